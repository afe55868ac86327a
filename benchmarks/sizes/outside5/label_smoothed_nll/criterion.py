import torch


def label_smoothed_nll_loss(lprobs, target, epsilon=0.1, ignore_index=0):
    """Label smoothed negative log likelihood for sequence to sequence models.

    Args:
        lprobs (FloatTensor): log-probabilities from the decoder `(bsz x tgt_len x vocab)`
        target (LongTensor): gold token ids `(bsz x tgt_len)`
        epsilon (float): smoothing mass
        ignore_index (int): id of the padding token

    Returns:
        tuple: the smoothed loss and the plain nll, both summed over all tokens
    """
    target = target.unsqueeze(-1)
    nll_loss = -lprobs.gather(dim=-1, index=target)
    smooth_loss = -lprobs.sum(dim=-1, keepdim=True)
    pad_mask = target.eq(ignore_index)
    nll_loss = nll_loss.masked_fill(pad_mask, 0.0).sum()
    smooth_loss = smooth_loss.masked_fill(pad_mask, 0.0).sum()
    eps_i = epsilon / (lprobs.size(-1) - 1)
    loss = (1.0 - epsilon - eps_i) * nll_loss + eps_i * smooth_loss
    return loss, nll_loss
