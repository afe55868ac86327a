import torch


def forward_algorithm(log_init, log_trans, log_emit):
    """Log-likelihood of a batch of sequences under an HMM.

    The emissions are time-major, i.e. ``log_emit`` is time x batch x states. ``log_trans[i, j]``
    is the log-probability to go from state i to state j and ``log_init`` has one entry per state.
    """
    alpha = log_init + log_emit[0]
    for emit in log_emit[1:]:
        alpha = torch.logsumexp(alpha.unsqueeze(-1) + log_trans, dim=-2) + emit
    return torch.logsumexp(alpha, dim=-1)
