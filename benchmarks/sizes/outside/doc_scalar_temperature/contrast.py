def info_nce_logits(z1, z2, log_temp):
    """Logits of the InfoNCE loss.

    Parameters:
        z1, z2: two views, each of shape (N, D)
        log_temp: learnable scalar tensor, shape ()
    """
    z1 = z1 / z1.norm(dim=1, keepdim=True)
    z2 = z2 / z2.norm(dim=1, keepdim=True)
    return z1 @ z2.t() * log_temp.exp()
