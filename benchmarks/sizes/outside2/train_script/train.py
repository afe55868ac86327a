import torch

from physics.losses import burgers_residual


def main(n_points=64):
    u = torch.randn(n_points, 1)
    u_t = torch.randn(n_points, 1)
    u_x = torch.randn(n_points, 1)
    u_xx = torch.randn(n_points, 1)
    loss = burgers_residual(u, u_t, u_x, u_xx)
    print(f"residual {loss.item():.4f}")


if __name__ == "__main__":
    main()
