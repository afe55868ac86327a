import torch


def log_mel(spec, filterbank, floor=1e-5):
    """Turns a magnitude spectrogram into a log mel spectrogram.

    Args:
        spec (Tensor): Magnitudes of shape ``(batch, n_freqs, time)``.
        filterbank (Tensor): Triangular filters of shape ``(n_freqs, n_mels)``.
        floor (float): Smallest energy before the logarithm.

    Returns:
        Tensor: Log energies of shape ``(batch, n_mels, time)``.
    """
    mel = torch.matmul(spec.transpose(-1, -2), filterbank).transpose(-1, -2)
    return torch.log10(mel.clamp(min=floor))
