import torch


def decode_head(pred, anchors, stride: int):
    """Decodes one YOLOv3 head.

    pred: raw map (B, A * (5 + n_classes), H, W)
    anchors: widths and heights in pixels, one row per anchor
    stride: pixels per cell, 8, 16 or 32
    """
    n_anchors = anchors.shape[0]
    b, ch, h, w = pred.shape
    pred = pred.view(b, n_anchors, ch // n_anchors, h, w).permute(0, 1, 3, 4, 2)
    ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    grid = torch.stack([xs, ys], dim=-1)                    # H, W, 2
    xy = (pred[..., 0:2].sigmoid() + grid) * stride
    wh = pred[..., 2:4].exp() * anchors.view(1, n_anchors, 1, 1, 2)
    conf = pred[..., 4:].sigmoid()                          # objectness, then the classes
    return torch.cat([xy, wh, conf], dim=-1).flatten(1, 3)
