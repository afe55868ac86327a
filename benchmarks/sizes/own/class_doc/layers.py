import torch


class Attend(torch.nn.Module):
    """Self-attention with one head.

    Shape:
        - Input: (N, L, 32)
        - Output: (N, L, 32)
    """

    def __init__(self, width=32):
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, inputs):
        q, k, v = self.qkv(inputs).chunk(3, dim=-1)
        return torch.softmax(q @ k.mT, dim=-1) @ v
