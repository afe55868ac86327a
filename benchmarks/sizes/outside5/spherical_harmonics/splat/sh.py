import torch

C0 = 0.28209479177387814
C1 = 0.4886025119029199


def eval_sh(sh, means, cam_center):
    """View dependent colors of the gaussians with harmonics up to degree 1.

    sh: (N, 3, 4) coefficients, one set for each color channel
    """
    dirs = means - cam_center  # cam_center: (3,)
    dirs = dirs / dirs.norm(dim=1, keepdim=True)
    x, y, z = dirs.split(1, dim=1)
    color = C0 * sh[..., 0] - C1 * y * sh[..., 1] + C1 * z * sh[..., 2] - C1 * x * sh[..., 3]
    return torch.clamp_min(color + 0.5, 0.0)


def test_single_color():
    n = 10
    sh = torch.zeros(n, 3, 4)
    out = eval_sh(sh, torch.randn(n, 3), torch.zeros(3))
    assert torch.allclose(out, torch.full((n, 3), 0.5))
