import torch


def risk_contribution(returns, weights, annualization=252):
    """Marginal and percentage contribution of every asset to the volatility of the portfolio.

    ``returns`` is a T x N matrix with the daily returns of N assets over T days, and ``weights``
    is the vector of the N portfolio weights. The covariance is the plain
    sample covariance, scaled to one year.

    Returns a tuple (portfolio volatility, N marginal contributions, N percentages).
    """
    centered = returns - returns.mean(dim=0, keepdim=True)
    cov = centered.T @ centered / returns.shape[0] * annualization
    sigma = (weights @ cov @ weights).sqrt()
    marginal = cov @ weights / sigma
    pct = weights * marginal / sigma
    return sigma, marginal, pct
