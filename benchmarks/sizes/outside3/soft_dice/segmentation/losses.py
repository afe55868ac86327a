import torch
import torch.nn.functional as F


def soft_dice_loss(logits, target, smooth=1.0):
    """Soft Dice loss, averaged over classes.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, C, H, W)
        Raw network output.
    target : torch.LongTensor of shape (N, H, W)
        Class index of each pixel.
    smooth : float, optional
        Added to numerator and denominator.

    Returns
    -------
    torch.Tensor
        Scalar loss.
    """
    probs = logits.softmax(dim=1)
    onehot = F.one_hot(target, logits.shape[1]).movedim(-1, 1).to(probs)
    dims = (0, 2, 3)
    inter = (probs * onehot).sum(dims)
    denom = probs.sum(dims) + onehot.sum(dims)
    return 1 - ((2 * inter + smooth) / (denom + smooth)).mean()
