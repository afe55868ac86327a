import torch


def decode_boxes(deltas, anchors, clip=4.135):
    """Applies predicted offsets to the anchors.

    Args:
        deltas (Tensor[N, 4]): offsets (dx, dy, dw, dh)
        anchors (Tensor[N, 4]): reference boxes in ``(x1, y1, x2, y2)`` format
        clip (float): largest dw and dh

    Returns:
        Tensor[N, 4]: the boxes
    """
    sizes = anchors[..., 2:] - anchors[..., :2]
    centers = anchors[..., :2] + 0.5 * sizes
    centers = centers + deltas[..., :2] * sizes
    sizes = sizes * torch.exp(deltas[..., 2:].clamp(max=clip))
    return torch.cat((centers - 0.5 * sizes, centers + 0.5 * sizes), dim=-1)
