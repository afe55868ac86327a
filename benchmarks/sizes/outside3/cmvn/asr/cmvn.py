import torch


def cmvn(feats, lengths, norm_vars=True):
    """Utterance level mean and variance normalisation.

    :param feats: padded filterbanks, (B, T, F)
    :param lengths: number of valid frames of each utterance, int64 (B,)
    :param norm_vars: also divide by the standard deviation
    :return: tensor of the same shape as ``feats``
    """
    frames = torch.arange(feats.size(1), device=feats.device)
    mask = (frames.unsqueeze(0) < lengths.unsqueeze(1)).unsqueeze(2).float()
    count = mask.sum(1, keepdim=True).clamp(min=1)
    mean = (feats * mask).sum(1, keepdim=True) / count
    out = (feats - mean) * mask
    if norm_vars:
        var = out.pow(2).sum(1, keepdim=True) / count
        out = out / (var + 1e-5).sqrt()
    return out
