import torch
import torch.nn.functional as F


def soft_dice_loss(logits, target, eps=1e-6):
    """Multi-class soft Dice loss.

    Parameters
    ----------
    logits : torch.Tensor, shape (N, C, H, W)
        Raw network output.
    target : torch.LongTensor, shape (N, H, W)
        Class index of each pixel.
    eps : float, optional
        Smoothing term.

    Returns
    -------
    loss : torch.Tensor
        Scalar.
    """
    probs = logits.softmax(dim=1)
    onehot = F.one_hot(target, logits.shape[1]).movedim(-1, 1).to(probs.dtype)
    dims = (0,) + tuple(range(2, probs.dim()))
    inter = (probs * onehot).sum(dims)
    total = probs.sum(dims) + onehot.sum(dims)
    return 1 - ((2 * inter + eps) / (total + eps)).mean()
