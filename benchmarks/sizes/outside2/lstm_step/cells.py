import torch


def lstm_step(x, h, c, w_ih, w_hh, bias):
    """Single LSTM step.

    Parameters
    ----------
    x : (batch, input_size) tensor
    h, c : (batch, hidden_size) tensors
        Previous hidden and cell state.
    w_ih : (4 * hidden_size, input_size) tensor
    w_hh : (4 * hidden_size, hidden_size) tensor
    bias : (4 * hidden_size,) tensor

    Returns
    -------
    h, c : (batch, hidden_size) tensors
    """
    gates = x @ w_ih.T + h @ w_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
