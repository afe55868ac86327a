import torch
import torch.nn as nn


class PositionwiseFFN(nn.Module):
    def __init__(self, d_model=64, d_ff=256, dropout=0.0):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        residual = x
        x = self.w_2(torch.relu(self.w_1(x)))
        return self.norm(self.dropout(x) + residual)


if __name__ == "__main__":
    ffn = PositionwiseFFN()
    x = torch.randn(2, 10, 64)
    y = ffn(x)
    print(y.shape)
    assert y.shape == x.shape
