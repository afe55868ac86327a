import math

import torch

TRADING_DAYS = 252


def portfolio_stats(weights, returns, risk_free=0.02):
    n_days, n_assets = returns.shape
    w = torch.softmax(weights, dim=0)
    mu = returns.mean(dim=0) * TRADING_DAYS
    centered = returns - returns.mean(dim=0, keepdim=True)
    cov = centered.T @ centered / max(n_days - 1, 1) * TRADING_DAYS
    vol = torch.sqrt(w @ cov @ w + 1e-12)
    sharpe = (torch.dot(w, mu) - risk_free) / vol
    return sharpe, vol / math.sqrt(TRADING_DAYS)
