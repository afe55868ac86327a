import torch


def heat_residual(u, f, alpha, dt=0.01, dx=0.1):
    """Finite-difference residual of the 1D heat equation u_t = alpha u_xx + f."""
    # u: [batch, nt, nx], the source term f lives on the same grid
    u_t = (u[:, 2:, 1:-1] - u[:, :-2, 1:-1]) / (2 * dt)
    u_xx = (u[:, 1:-1, 2:] - 2 * u[:, 1:-1, 1:-1] + u[:, 1:-1, :-2]) / dx ** 2
    return u_t - alpha.view(-1, 1, 1) * u_xx - f[:, 1:-1, 1:-1]


def physics_loss(u, f, alpha):
    return heat_residual(u, f, alpha).square().mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    u = torch.randn(4, 50, 64, requires_grad=True)
    f = torch.zeros(4, 50, 64)
    alpha = torch.rand(4)
    physics_loss(u, f, alpha).backward()
    print(u.grad.norm())
