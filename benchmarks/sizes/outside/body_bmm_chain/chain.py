import torch


def project_pairs(a, core, c):
    left = torch.bmm(a, core)
    return torch.bmm(left, c.transpose(1, 2)).tanh()
