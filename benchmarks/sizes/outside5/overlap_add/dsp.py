import torch


def overlap_add(frames, window):
    n_frames, frame_length = frames.shape
    hop = max(frame_length // 2, 1)
    total = (n_frames - 1) * hop + frame_length
    signal = torch.zeros(total)
    norm = torch.zeros(total)
    for i in range(n_frames):
        start = i * hop
        signal[start:start + frame_length] += torch.mul(frames[i], window)
        norm[start:start + frame_length] += window ** 2
    return signal / norm.clamp(min=1e-8)
