import torch

from se3 import apply_transform, inverse

batch, n_points = 2, 50
rot = torch.linalg.qr(torch.randn(batch, 3, 3))[0]
trans = torch.randn(batch, 3)
pts = torch.rand(batch, n_points, 3)

moved = apply_transform(rot, trans, pts)
back = apply_transform(*inverse(rot, trans), moved)
print("max error", (back - pts).abs().max().item())
