import torch
import torch.nn.functional as F


class Mlp(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))
