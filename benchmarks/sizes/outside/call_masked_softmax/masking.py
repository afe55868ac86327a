import torch


def masked_softmax(scores, mask):
    scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(dim=-1)


if __name__ == "__main__":
    b, h, s, t = 2, 4, 5, 8
    mask = torch.ones(s, t, dtype=torch.bool).tril(diagonal=3)
    probs = masked_softmax(torch.randn(b, h, s, t), mask)
    assert probs.shape == (b, h, s, t)
