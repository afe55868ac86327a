import torch

TRADING_DAYS = 252


def portfolio_stats(weights, returns, risk_free=0.02):
    """Annualized return, volatility and Sharpe ratio of a fixed allocation."""
    mean = returns.mean(dim=0) * TRADING_DAYS
    cov = torch.cov(returns.T) * TRADING_DAYS
    port_return = torch.dot(weights, mean)
    port_vol = torch.sqrt(weights @ cov @ weights)
    sharpe = (port_return - risk_free) / port_vol
    return port_return, port_vol, sharpe
