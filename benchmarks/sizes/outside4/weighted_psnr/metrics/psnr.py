import torch

# ITU-R BT.601
LUMA = torch.tensor([0.299, 0.587, 0.114])


def rgb_to_y(img):
    return torch.einsum("bchw,c->bhw", img, LUMA)


def weighted_psnr(pred, target, weight, max_val=1.0):
    """PSNR on the luma channel, with an importance for each pixel.

    pred, target: RGB images in [0, max_val]
    weight: importance maps, (B, 1, H, W) or (B, H, W)
    """
    y = rgb_to_y(pred)
    err = (y - rgb_to_y(target)).square()
    w = weight.view(err.shape)
    mse = (w * err).sum((1, 2)) / w.sum((1, 2)).clamp(min=1e-8)
    return 10 * torch.log10(max_val ** 2 / mse.clamp(min=1e-12))
