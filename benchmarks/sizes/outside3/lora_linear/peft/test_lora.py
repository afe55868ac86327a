import torch

from lora import lora_linear


def test_zero_b_is_base():
    x = torch.randn(2, 7, 64)
    W = torch.randn(32, 64)
    A = torch.randn(4, 64)
    B = torch.zeros(32, 4)
    torch.testing.assert_close(lora_linear(x, W, A, B), x @ W.T)
