import math

import torch


def haar_step(signal):
    # signal: (batch, length) with an even length
    even = signal[..., 0::2]
    odd = signal[..., 1::2]
    approx = (even + odd) / math.sqrt(2)
    detail = (even - odd) / math.sqrt(2)
    return approx, detail
