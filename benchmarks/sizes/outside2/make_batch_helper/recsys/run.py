import torch

from bpr import bpr_loss

BATCH = 128
DIM = 16


def make_batch():
    users = torch.randn(BATCH, DIM)
    pos = torch.randn(BATCH, DIM)
    neg = torch.randn(BATCH, DIM)
    return users, pos, neg


def main():
    for step in range(3):
        users, pos, neg = make_batch()
        print(step, bpr_loss(users, pos, neg).item())


if __name__ == "__main__":
    main()
