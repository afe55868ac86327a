import torch


def area(boxes):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def generalized_box_iou(boxes1, boxes2):
    """
    Pairwise generalized IoU.

    :param boxes1: boxes in xyxy format, of shape [N, 4]
    :type boxes1: torch.Tensor
    :param boxes2: boxes in xyxy format, of shape [M, 4]
    :type boxes2: torch.Tensor
    :return: matrix of shape [N, M]
    """
    lt = torch.max(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    union = area(boxes1)[:, None] + area(boxes2) - inter
    iou = inter / union
    lt = torch.min(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.max(boxes1[:, None, 2:], boxes2[:, 2:])
    wh = (rb - lt).clamp(min=0)
    hull = wh[..., 0] * wh[..., 1]
    return iou - (hull - union) / hull
