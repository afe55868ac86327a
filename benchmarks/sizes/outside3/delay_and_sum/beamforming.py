import math

import torch


def delay_and_sum(recordings, delays, weights, fs=16000):
    # recordings: (n_mics, n_samples)
    # delays: seconds, one for each microphone; weights: shading of the array, likewise
    n = recordings.shape[-1]
    spec = torch.fft.rfft(recordings)
    freqs = torch.fft.rfftfreq(n, d=1.0 / fs)
    phase = -2 * math.pi * freqs[None, :] * delays[:, None]
    steered = spec * torch.polar(torch.ones_like(phase), phase)
    return torch.fft.irfft((weights[:, None] * steered).sum(0), n=n)
