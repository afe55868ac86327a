import torch


def ewma_vol(returns, decay=0.94):
    """RiskMetrics volatility."""
    var = returns[0] ** 2
    out = [var]
    for r in returns[1:]:
        var = decay * var + (1 - decay) * r ** 2
        out.append(var)
    return torch.stack(out).sqrt()
