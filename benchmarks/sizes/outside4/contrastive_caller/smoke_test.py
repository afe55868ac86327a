import math

import torch

from clip_loss import clip_loss


def run(batch_size=16, embed_dim=512):
    img = torch.randn(batch_size, embed_dim)
    txt = torch.randn(batch_size, embed_dim)
    scale = torch.tensor(math.log(1 / 0.07))
    loss = clip_loss(img, txt, scale)
    assert loss.ndim == 0
    print(f"loss {loss.item():.3f}, chance {math.log(batch_size):.3f}")


if __name__ == "__main__":
    run()
