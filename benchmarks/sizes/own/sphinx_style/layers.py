import torch


def standardize(x, mean, std):
    """
    :param x: batch of features, shape ``(N, D)``
    :param mean: per-feature mean, shape ``(D,)``
    :param std: per-feature deviation, shape ``(D,)``
    :return: standardized features ``(N, D)``
    """
    return (x - mean) / std
