"""Functions whose file keeps what a call computed."""

from functools import lru_cache

import torch


@lru_cache
def _mask(size):
    return torch.ones(size, size).tril()


def cached(x):  # stepsmith: x[m, m]
    return x * _mask(x.shape[0])


_KEPT = []


def kept(x):  # stepsmith: x[m, n]
    if not _KEPT:
        _KEPT.append(torch.ones(3))
    return x + _KEPT[0].sum()
