import torch


def window_partition(x, window_size=7):
    # x: (B, H, W, C), H and W are multiples of the window size
    B, H, W, C = x.shape
    ws = window_size
    x = x.view(B, H // ws, ws, W // ws, ws, C)
    windows = x.permute(0, 1, 3, 2, 4, 5).contiguous()
    return windows.view(-1, ws * ws, C)  # (num_windows * B, ws * ws, C)
