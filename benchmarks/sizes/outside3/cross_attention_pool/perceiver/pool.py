import torch


def latent_cross_attention(latents, inputs, w_q, w_kv):
    """Latents attend to the inputs.

    Args:
        latents: (B, M, D) learned array
        inputs: (B, N, C) bytes, pixels or points
        w_q: projection of the latents
        w_kv: joint projection of the inputs to keys and values
    """
    q = latents @ w_q
    k, v = (inputs @ w_kv).chunk(2, dim=-1)
    att = (q @ k.transpose(1, 2)) * q.size(-1) ** -0.5
    return att.softmax(-1) @ v
