import torch


def shade(normals, albedo, light):
    """Second order spherical harmonics lighting.

    Args:
        normals: unit normals, (B, 3, H, W)
        albedo: RGB reflectance, same layout as the normals
        light: the coefficients of each image's (grey) light
    """
    x, y, z = normals[:, 0], normals[:, 1], normals[:, 2]
    one = torch.ones_like(x)
    basis = torch.stack(
        [one, y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y], dim=1
    )
    shading = torch.einsum("bk,bkhw->bhw", light, basis)
    return albedo * shading.unsqueeze(1)
