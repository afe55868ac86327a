# mypy: ignore-errors
"""Embedding lookup and gathers."""

import torch
import torch.nn.functional as F
from torch import Tensor


def embedding(ids: Tensor, table: Tensor) -> Tensor:  # stepsmith: ids[n] int64, table[v, d]
    return F.embedding(ids, table)


def embedding_sum(ids: Tensor, table: Tensor) -> Tensor:  # stepsmith: ids[n, l] int64, table[v, d]
    return F.embedding(ids, table).sum(1)


def one_hot_product(ids: Tensor, w: Tensor) -> Tensor:  # stepsmith: ids[n] int64, w[8, d]
    return F.one_hot(ids, 8).float() @ w


def select_rows(x: Tensor, ids: Tensor) -> Tensor:  # stepsmith: x[m, k], ids[n] int64
    return torch.index_select(x, 0, ids)
