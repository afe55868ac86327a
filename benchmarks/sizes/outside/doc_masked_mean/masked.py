def masked_mean(hidden, mask):
    """Mean over the valid time steps.

    Args:
        hidden (Tensor[B, T, D]): encoder states
        mask (BoolTensor[B, T]): True where a step is valid
    """
    m = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * m).sum(1) / m.sum(1).clamp(min=1.0)
