import torch
import torch.nn.functional as F


def scan(seqs, pwms):
    """Best log-odds score of every motif on either strand.

    Args:
        seqs: one-hot DNA in the order ACGT, shape (batch, 4, length)
        pwms: position weight matrices, shape (n_motifs, 4, width)

    Returns:
        scores, shape (batch, n_motifs)
    """
    pad = pwms.shape[-1] // 2
    revcomp = pwms.flip(dims=(1, 2))
    fwd = F.conv1d(seqs, pwms, padding=pad)
    rev = F.conv1d(seqs, revcomp, padding=pad)
    return torch.maximum(fwd, rev).amax(dim=-1)
