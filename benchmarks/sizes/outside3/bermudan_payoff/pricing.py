import torch


def discounted_exercise(paths, discount, strike=100.0):
    """Best exercise value on every path, a (perfect foresight) upper bound.

    Args:
        paths: simulated spots, (n_paths, n_steps + 1); the first column is today.
        discount: (n_steps,) discount factors of the exercise dates.
        strike: strike of the put.

    Returns:
        (n_paths,) values.
    """
    payoff = torch.clamp(strike - paths[:, 1:], min=0.0)
    return (payoff * discount).amax(dim=1)
