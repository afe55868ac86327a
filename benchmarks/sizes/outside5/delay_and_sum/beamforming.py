import math

import torch


def delay_and_sum(signals, mic_pos, direction, sample_rate=16000, c=343.0):
    """Steers a microphone array to a far-field source.

    signals: (n_mics, n_samples)
    mic_pos: position of each microphone in meters, x/y/z
    """
    n_mics, n_samples = signals.shape
    unit = direction / direction.norm()
    delays = torch.mv(mic_pos, unit) / c
    spec = torch.fft.rfft(signals, dim=1)
    freqs = torch.fft.rfftfreq(n_samples, 1.0 / sample_rate)
    phase = 2 * math.pi * delays[:, None] * freqs[None, :]
    steered = spec * torch.polar(torch.ones_like(phase), phase)
    return torch.fft.irfft(steered.mean(dim=0), n=n_samples)


if __name__ == "__main__":
    array = torch.zeros(8, 3)
    array[:, 0] = torch.arange(8) * 0.05
    out = delay_and_sum(torch.randn(8, 4000), array, torch.tensor([0.0, 1.0, 0.0]))
    print(out.shape)
