import torch


def ema(x, state, decay=0.9):
    outs = []
    for step in x.unbind(0):
        state = decay * state + (1 - decay) * step
        outs.append(state)
    return torch.stack(outs)
