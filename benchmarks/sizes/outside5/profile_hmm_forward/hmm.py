import torch


def forward_algorithm(obs, log_init, log_trans, log_emit):
    # obs: (batch, length) symbols of the alphabet
    n_states, n_symbols = log_emit.shape
    batch, length = obs.shape
    alpha = log_init + log_emit[:, obs[:, 0]].t()
    for t in range(1, length):
        alpha = torch.logsumexp(alpha.unsqueeze(2) + log_trans, dim=1)
        alpha = alpha + log_emit[:, obs[:, t]].t()
    return torch.logsumexp(alpha, dim=1)


if __name__ == "__main__":
    S, A = 6, 20
    trans = torch.randn(S, S).log_softmax(-1)
    emit = torch.randn(S, A).log_softmax(-1)
    init = torch.randn(S).log_softmax(-1)
    seqs = torch.randint(0, A, (12, 50))
    print(forward_algorithm(seqs, init, trans, emit))
