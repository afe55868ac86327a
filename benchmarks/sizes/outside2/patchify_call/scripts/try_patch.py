import torch

from vit.patch import patchify

imgs = torch.rand(2, 3, 16, 24)
tokens = patchify(imgs)
assert tokens.shape == (2, 24, 48)
