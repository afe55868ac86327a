import torch

from optim import adam_update


def test_matches_torch():
    p = torch.randn(6, 4)
    grad = torch.randn_like(p)
    ref = p.clone().requires_grad_()
    ref.grad = grad.clone()
    torch.optim.Adam([ref], lr=1e-3).step()
    new, _, _ = adam_update(p, grad, torch.zeros_like(p), torch.zeros_like(p))
    assert torch.allclose(new, ref.detach(), atol=1e-6)
