import torch


def hmm_log_likelihood(obs, log_init, log_trans, log_emit):
    """Log-likelihood of DNA sequences under a discrete HMM.

    Parameters
    ----------
    obs : LongTensor (batch, length)
        Observed symbols.
    log_init, log_trans, log_emit : Tensor
        Log probabilities of the first state, of the next state given the current one, and of the
        symbols given the state.
    """
    n_states, n_symbols = log_emit.shape
    assert log_trans.shape == (n_states, n_states)
    emit = log_emit.t()[obs]                    # batch, length, states
    alpha = log_init + emit[:, 0]
    for t in range(1, obs.shape[1]):
        alpha = torch.logsumexp(alpha.unsqueeze(2) + log_trans, dim=1) + emit[:, t]
    return torch.logsumexp(alpha, dim=-1)
