import torch


def pairwise_iou(boxes1, boxes2):
    """
    Intersection over union of all pairs.

    boxes1: N boxes as (x1, y1, x2, y2)
    boxes2: M boxes, same format

    returns an N x M matrix
    """
    area1 = (boxes1[:, 2:] - boxes1[:, :2]).prod(1)
    area2 = (boxes2[:, 2:] - boxes2[:, :2]).prod(1)
    lt = torch.maximum(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    return inter / (area1[:, None] + area2 - inter)
