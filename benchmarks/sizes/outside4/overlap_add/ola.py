import torch
import torch.nn.functional as F


def overlap_add(frames, window, hop=4):
    batch, n_frames, frame_len = frames.shape
    out_len = (n_frames - 1) * hop + frame_len
    kw = dict(output_size=(1, out_len), kernel_size=(1, frame_len), stride=(1, hop))
    y = F.fold((frames * window).transpose(1, 2), **kw)
    norm = window.square().expand(batch, n_frames, frame_len).transpose(1, 2)
    norm = F.fold(norm, **kw)
    return (y / norm.clamp(min=1e-8))[:, 0, 0]
