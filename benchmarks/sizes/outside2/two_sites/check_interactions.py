import torch

from interactions import cross_layer

# square batch
x0 = torch.randn(8, 8)
w = torch.randn(8, 8)
b = torch.zeros(8)
assert cross_layer(x0, x0, w, b).shape == x0.shape

# stacked
x0 = torch.randn(32, 6)
x = x0
for _ in range(3):
    x = cross_layer(x0, x, torch.randn(6, 6), torch.zeros(6))
print(x.shape)
