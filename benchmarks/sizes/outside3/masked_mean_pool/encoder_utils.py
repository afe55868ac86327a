import torch
from torch import Tensor


def mean_pooling(hidden_states: Tensor, padding_mask: Tensor) -> Tensor:
    """Average token vectors, leaving out padding.

    Args:
        hidden_states (Tensor): last layer of the encoder, of shape
            (batch_size, seq_len, hidden_dim).
        padding_mask (Tensor): bool tensor of shape (batch_size, seq_len),
            True at padded positions.

    Returns:
        Tensor: sentence embeddings of shape (batch_size, hidden_dim).
    """
    keep = (~padding_mask).to(hidden_states.dtype).unsqueeze(-1)
    total = (hidden_states * keep).sum(1)
    return total / keep.sum(1).clamp(min=1e-9)
