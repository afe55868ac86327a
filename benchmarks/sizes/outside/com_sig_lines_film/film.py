def film(
    feat,   # (B, C, H, W)
    gamma,  # (B, C)
    beta,   # (B, C)
):
    g = gamma[:, :, None, None]
    b = beta[:, :, None, None]
    return feat * (1 + g) + b
