import torch


def ema(x, decay):
    state = torch.zeros_like(x[:, 0])
    outs = []
    for step in range(x.shape[1]):
        state = decay * state + (1 - decay) * x[:, step]
        outs.append(state)
    return torch.stack(outs, dim=1)
