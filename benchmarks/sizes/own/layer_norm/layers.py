import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    """Normalize the last axis.

    x: [batch, seq, hidden]
    gamma, beta: [hidden]
    """
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mu) / torch.sqrt(var + eps) * gamma + beta
