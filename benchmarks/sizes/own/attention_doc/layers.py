import torch
import torch.nn.functional as F


def sdpa(q, k, v):
    """Attention.

    Shape:
        - q: :math:`(B, H, L, E)`
        - k: :math:`(B, H, S, E)`
        - v: :math:`(B, H, S, E)`
        - Output: :math:`(B, H, L, E)`
    """
    return F.scaled_dot_product_attention(q, k, v)
