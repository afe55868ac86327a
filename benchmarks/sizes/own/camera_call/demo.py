import torch
from pose import project

K = torch.tensor([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
pts = torch.randn(100, 3) + torch.tensor([0.0, 0.0, 5.0])
print(project(pts, K, torch.eye(3), torch.zeros(3)))
