import math

import torch


def asian_call_prices(paths, strikes, rate: float, maturity: float):
    """Monte Carlo prices of arithmetic Asian calls.

    Args:
        paths: simulated prices including today's, shape (n_steps + 1, n_paths).
        strikes: shape (n_strikes,).
        rate: risk-free rate.
        maturity: in years.

    Returns:
        prices of shape (n_strikes,) and their standard errors.
    """
    average = paths[1:].mean(dim=0)
    payoff = torch.relu(average[None] - strikes[:, None])
    discounted = math.exp(-rate * maturity) * payoff
    return discounted.mean(dim=1), discounted.std(dim=1) / paths.shape[1] ** 0.5
