import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch

from ops.topk_mix import route


def run(n_tokens=20, dim=16, n_experts=4, hidden=32):
    tokens = torch.randn(n_tokens, dim)
    router = torch.randn(dim, n_experts)
    w = torch.randn(n_experts, dim, hidden)
    start = time.perf_counter()
    out = route(tokens, router, w)
    return out, time.perf_counter() - start


if __name__ == "__main__":
    print(run()[0].shape)
