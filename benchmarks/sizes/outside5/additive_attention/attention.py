import torch


def additive_attention(query, keys, w_q, w_k, v, mask):
    """Bahdanau attention over the encoder states.

    Parameters
    ----------
    query : torch.Tensor, shape (batch, query_dim)
        Decoder state of the current step.
    keys : torch.Tensor, shape (batch, src_len, key_dim)
        Encoder outputs.
    w_q : torch.Tensor, shape (query_dim, hidden)
    w_k : torch.Tensor, shape (key_dim, hidden)
    v : torch.Tensor, shape (hidden,)
    mask : torch.BoolTensor, shape (batch, src_len)
        True at the positions which may be attended to.

    Returns
    -------
    context : torch.Tensor, shape (batch, key_dim)
    weights : torch.Tensor, shape (batch, src_len)
    """
    energy = torch.tanh((query @ w_q).unsqueeze(1) + keys @ w_k)
    scores = energy @ v
    scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
    context = (weights.unsqueeze(-1) * keys).sum(dim=1)
    return context, weights
