import torch


def si_sdr(estimate, reference, eps=1e-8):
    """Scale invariant signal-to-distortion ratio in dB."""
    estimate = estimate - estimate.mean(-1, keepdim=True)
    reference = reference - reference.mean(-1, keepdim=True)
    scale = (estimate * reference).sum(-1, keepdim=True) / (reference.pow(2).sum(-1, keepdim=True) + eps)
    target = scale * reference
    noise = estimate - target
    return 10 * torch.log10(target.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps) + eps)
