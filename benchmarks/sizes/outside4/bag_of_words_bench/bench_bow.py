import time

import torch

from bow import bag_logits

VOCAB = 30_000


def bench(batch, length, dim=128, classes=20, reps=10):
    tokens = torch.randint(VOCAB, (batch, length))
    table = torch.randn(VOCAB, dim)
    weight = torch.randn(classes, dim)
    start = time.perf_counter()
    for _ in range(reps):
        bag_logits(tokens, table, weight)
    return (time.perf_counter() - start) / reps


if __name__ == "__main__":
    for length in (16, 64, 256):
        print(length, bench(32, length))
