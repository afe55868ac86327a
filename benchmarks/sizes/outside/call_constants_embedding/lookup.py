import torch

VOCAB, DIM, BATCH, LENGTH = 100, 16, 4, 9


def bag_of_words(ids, table):
    return table[ids].mean(dim=1)


def check():
    ids = torch.randint(VOCAB, (BATCH, LENGTH))
    table = torch.randn(VOCAB, DIM)
    out = bag_of_words(ids, table)
    assert out.shape == (BATCH, DIM)


if __name__ == "__main__":
    check()
