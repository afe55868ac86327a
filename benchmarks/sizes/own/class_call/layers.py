import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.alpha * x.cumsum(-1)
