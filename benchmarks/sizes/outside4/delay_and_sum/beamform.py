import math

import torch


def delay_and_sum(signals, mic_pos, directions, fs: int, c: float = 343.0):
    """Power of a far-field beamformer for a set of look directions.

    signals: multichannel recordings, (batch, mics, samples)
    mic_pos: positions of the microphones in meters (x, y, z)
    """
    n = signals.shape[-1]
    spec = torch.fft.rfft(signals)
    freqs = torch.fft.rfftfreq(n, 1 / fs)
    # directions holds one unit vector per row
    tau = directions @ mic_pos.T / c                            # (K, M)
    phase = 2 * math.pi * tau[..., None] * freqs                # (K, M, F)
    steer = torch.polar(torch.ones_like(phase), phase)
    beams = torch.einsum("kmf,bmf->bkf", steer, spec) / mic_pos.shape[0]
    return beams.abs().square().mean(-1)
