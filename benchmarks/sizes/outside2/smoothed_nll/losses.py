import torch
import torch.nn.functional as F


def label_smoothed_nll(logits, target, eps=0.1):
    """Label-smoothed negative log-likelihood.

    Parameters
    ----------
    logits : torch.Tensor, shape (batch, seq_len, vocab_size)
        Unnormalised scores of the decoder.
    target : torch.LongTensor, shape (batch, seq_len)
        Gold token ids.
    eps : float, optional
        Smoothing mass, by default 0.1.

    Returns
    -------
    torch.Tensor
        Scalar loss.
    """
    lprobs = F.log_softmax(logits, dim=-1)
    nll = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    smooth = -lprobs.mean(dim=-1)
    return ((1 - eps) * nll + eps * smooth).mean()
