import torch


def rollout_cost(x0, controls, A, B, Q, R):
    """Quadratic cost of control sequences under linear dynamics.

    x0       start state, (n,)
    controls sampled control sequences, (samples, horizon, m)
    A, B     dynamics, (n, n) and (n, m)
    Q, R     cost matrices, (n, n) and (m, m)
    """
    x = x0.expand(controls.shape[0], -1)
    cost = torch.zeros(controls.shape[0])
    for t in range(controls.shape[1]):
        u = controls[:, t]
        x = x @ A.T + u @ B.T
        cost = cost + ((x @ Q) * x).sum(-1) + ((u @ R) * u).sum(-1)
    return cost
