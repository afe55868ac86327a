import torch


def inertia_tensor(pos, mass):
    com = torch.einsum("n,nd->d", mass, pos) / mass.sum()
    x, y, z = (pos - com).unbind(-1)
    ixx = mass.dot(y * y + z * z)
    iyy = mass.dot(x * x + z * z)
    izz = mass.dot(x * x + y * y)
    ixy = -mass.dot(x * y)
    ixz = -mass.dot(x * z)
    iyz = -mass.dot(y * z)
    return torch.stack([
        torch.stack([ixx, ixy, ixz]),
        torch.stack([ixy, iyy, iyz]),
        torch.stack([ixz, iyz, izz]),
    ])
