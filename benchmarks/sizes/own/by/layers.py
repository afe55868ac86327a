import torch


def normalize_rows(a):
    """Scale the rows of an n-by-m matrix a to unit length."""
    return a / a.norm(dim=1, keepdim=True)
