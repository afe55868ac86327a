import torch


def fm_second_order(emb):
    """Pairwise interactions of a factorization machine, in linear time."""
    square_of_sum = emb.sum(dim=-2).square()
    sum_of_square = emb.square().sum(dim=-2)
    return 0.5 * (square_of_sum - sum_of_square).sum(dim=-1, keepdim=True)
