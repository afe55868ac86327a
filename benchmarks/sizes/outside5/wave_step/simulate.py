import torch

from pde.wave import step

nx, ny = 120, 80


def simulate(n_steps=200):
    u = torch.zeros(nx, ny)
    u[nx // 2, ny // 2] = 1.0
    u_prev = u.clone()
    speed = torch.ones(nx, ny)
    speed[nx // 2:, :] = 0.5
    for _ in range(n_steps):
        u, u_prev = step(u, u_prev, speed), u
    return u


if __name__ == "__main__":
    print(simulate().abs().max())
