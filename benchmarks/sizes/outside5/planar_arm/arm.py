import math

import torch


def forward_kinematics(theta, lengths):
    phi = torch.cumsum(theta, dim=-1)
    x = torch.cumsum(lengths * torch.cos(phi), dim=-1)
    y = torch.cumsum(lengths * torch.sin(phi), dim=-1)
    return torch.stack([x, y], dim=-1)


if __name__ == "__main__":
    n_joints = 5
    links = torch.full((n_joints,), 0.3)
    poses = (torch.rand(64, n_joints) - 0.5) * math.pi
    tip = forward_kinematics(poses, links)[:, -1]
    print("reach:", tip.norm(dim=-1).max().item())
