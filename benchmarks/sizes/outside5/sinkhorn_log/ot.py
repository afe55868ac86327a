import torch


def sinkhorn(a, b, M, reg=0.1, n_iters=50):
    r"""
    Solve the entropic regularization optimal transport problem in the log domain

    .. math::
        \gamma = \arg\min_\gamma <\gamma, M>_F + reg \cdot \Omega(\gamma)

    Parameters
    ----------
    a : Tensor, (dim_a,)
        samples weights in the source domain
    b : Tensor, (dim_b,)
        samples weights in the target domain
    M : Tensor, (dim_a, dim_b)
        loss matrix
    reg : float
        Regularization term >0

    Returns
    -------
    gamma : Tensor, (dim_a, dim_b)
        Optimal transportation matrix for the given parameters
    """
    log_a, log_b = a.clamp(min=1e-8).log(), b.clamp(min=1e-8).log()
    K = -M / reg
    f = torch.zeros_like(a)
    g = torch.zeros_like(b)
    for _ in range(n_iters):
        f = log_a - torch.logsumexp(K + g, dim=1)
        g = log_b - torch.logsumexp(K + f[:, None], dim=0)
    return torch.exp(K + f[:, None] + g)
