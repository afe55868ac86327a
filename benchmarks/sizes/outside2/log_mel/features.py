import torch


def log_mel(spec, fb, floor=1e-5):
    """
    Project a magnitude spectrogram on a mel filter bank.

    spec: [batch, freq, time]
    fb:   [freq, n_mels]
    returns [batch, n_mels, time]
    """
    mel = torch.matmul(spec.transpose(-1, -2) ** 2, fb).transpose(-1, -2)
    return torch.log(mel.clamp(min=floor))
