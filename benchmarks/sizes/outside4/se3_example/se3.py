import torch


def apply_transform(rot, trans, pts):
    return pts @ rot.mT + trans.unsqueeze(-2)


def inverse(rot, trans):
    inv = rot.mT
    return inv, -(inv @ trans.unsqueeze(-1)).squeeze(-1)
