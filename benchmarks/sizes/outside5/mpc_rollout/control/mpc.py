import torch


def quadratic_cost(x0, controls, A, B, Q, R):
    """Cost of rolled out candidate plans of a linear system x' = A x + B u.

    controls: (samples, horizon, control_dim), all samples have their own initial state.
    """
    n_samples, horizon, _ = controls.shape
    n, m = B.shape
    x = x0
    cost = torch.zeros(n_samples)
    for t in range(horizon):
        u = controls[:, t]
        x = x @ A.T + u @ B.T
        cost = cost + torch.einsum("bi,ij,bj->b", x, Q, x) + torch.einsum("bi,ij,bj->b", u, R, u)
    return cost


def test_zero_cost_at_origin():
    x0 = torch.zeros(20, 4)
    cost = quadratic_cost(x0, torch.zeros(20, 10, 2), torch.eye(4), torch.ones(4, 2), torch.eye(4), torch.eye(2))
    assert cost.abs().max() == 0
