import math

import torch


def simulate_gbm(s0, mu, chol, z, dt=1 / 252):
    """Correlated geometric Brownian motions.

    s0: spots of the assets, (n_assets,)
    mu: drifts
    chol: Cholesky factor of the covariance matrix
    """
    # z: standard normals, (n_paths, n_steps, n_assets)
    shocks = z @ chol.T * math.sqrt(dt)
    var = (chol ** 2).sum(dim=1)
    log_ret = (mu - 0.5 * var) * dt + shocks
    return s0 * torch.exp(log_ret.cumsum(dim=1))
