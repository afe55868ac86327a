import torch


def lookup(table, index):
    """Pick rows.

    Args:
        table (Tensor): of shape (V, D).
        index (LongTensor): row numbers, of shape (N,).
    """
    return table[index]
