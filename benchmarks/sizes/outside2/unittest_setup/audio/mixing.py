import torch


def mix_at_snr(speech, noise, snr_db):
    ps = speech.pow(2).mean(dim=-1)
    pn = noise.pow(2).mean(dim=-1).clamp(min=1e-10)
    gain = torch.sqrt(ps / pn / 10 ** (snr_db / 10))
    return speech + gain.unsqueeze(-1) * noise
