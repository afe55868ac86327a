def layer_norm(x, gamma, beta, eps=1e-5):
    """Normalise over the features.

    Parameters
    ----------
    x : torch.Tensor, shape (batch, time, dim)
        Activations.
    gamma : torch.Tensor, shape (dim,)
        Scale.
    beta : torch.Tensor, shape (dim,)
        Shift.
    eps : float
        Added to the variance.

    Returns
    -------
    torch.Tensor, shape (batch, time, dim)
    """
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mu) / (var + eps).sqrt() * gamma + beta
