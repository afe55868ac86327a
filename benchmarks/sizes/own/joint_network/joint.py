import torch


def joint(enc, pred, w_out, b_out):
    h = enc.unsqueeze(2) + pred.unsqueeze(1)       # (B, T, U, H)
    h = torch.tanh(h)
    return (h @ w_out + b_out).log_softmax(-1)     # (B, T, U, V)
