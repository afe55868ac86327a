import torch
from layers import loss

batch, classes = 32, 10
logits = torch.randn(batch, classes, requires_grad=True)
target = torch.randint(0, classes, (batch,))
for step in range(10):
    loss(logits, target).backward()
