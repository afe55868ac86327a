import torch

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def denormalize(img, mean=IMAGENET_MEAN, std=IMAGENET_STD):
    """Undo the ImageNet normalisation so that a batch can be displayed.

    Args:
        img: normalised RGB images of shape (N, 3, H, W).
        mean: per-channel mean used by the loader.
        std: per-channel standard deviation used by the loader.

    Returns:
        Tensor of the same shape with values clipped to [0, 1].
    """
    mean = torch.tensor(mean, dtype=img.dtype, device=img.device).view(-1, 1, 1)
    std = torch.tensor(std, dtype=img.dtype, device=img.device).view(-1, 1, 1)
    return (img * std + mean).clamp(0, 1)
