# logits and target are both [N, C]; returns a scalar
def soft_cross_entropy(logits, target):
    logp = logits - logits.logsumexp(dim=-1, keepdim=True)
    return -(target * logp).sum(-1).mean()
