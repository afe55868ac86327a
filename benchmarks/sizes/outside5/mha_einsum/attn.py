import torch


def attend(q, k, v):
    b, t, h, d = q.shape
    scores = torch.einsum("bthd,bshd->bhts", q, k) / d ** 0.5
    probs = scores.softmax(dim=-1)
    out = torch.einsum("bhts,bshd->bthd", probs, v)
    return out.reshape(b, t, -1)
