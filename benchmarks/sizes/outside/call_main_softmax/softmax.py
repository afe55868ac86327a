import torch


def stable_softmax(scores):
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = shifted.exp()
    return e / e.sum(dim=-1, keepdim=True)


if __name__ == "__main__":
    s = torch.randn(8, 10)
    print(torch.allclose(stable_softmax(s), s.softmax(-1), atol=1e-6))
