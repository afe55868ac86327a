import torch


def pool(features):
    """Average over frames.

    Args:
        features (torch.Tensor): Frame features [batch size x num frames x feature dim].
    """
    return features.mean(dim=1)
