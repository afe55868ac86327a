import torch
import torch.nn.functional as F


def scan_motifs(seqs, pwms, background=0.25):
    """Best log-odds score of every motif on both strands.

    seqs - one-hot encoded DNA, N x 4 x L with the channels in the order A, C, G, T
    pwms - probabilities of M motifs of the same width W, M x 4 x W

    Returns an N x M tensor.
    """
    pssm = torch.log2(pwms.clamp(min=1e-4) / background)
    # A<->T and C<->G are mirrored in ACGT, so flipping both axes is the reverse complement
    rc = pssm.flip(1, 2)
    pad = pssm.shape[-1] - 1
    fwd = F.conv1d(seqs, pssm, padding=pad)
    bwd = F.conv1d(seqs, rc, padding=pad)
    return torch.maximum(fwd.amax(dim=-1), bwd.amax(dim=-1))
