import torch
import torch.nn.functional as F

LAPLACE = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])


def heat_residual(u, alpha=0.1, dt=1e-3, dx=1e-2):
    """Residual of the heat equation on a periodic grid.

    u: predicted temperature, [batch, time, 1, height, width]
    Returns: [batch, time - 1, 1, height, width]
    """
    b, t = u.shape[:2]
    flat = u[:, :-1].flatten(0, 1)
    flat = F.pad(flat, (1, 1, 1, 1), mode="circular")
    lap = F.conv2d(flat, LAPLACE.view(1, 1, 3, 3)) / dx ** 2
    du_dt = (u[:, 1:] - u[:, :-1]) / dt
    return du_dt - alpha * lap.view_as(du_dt)
