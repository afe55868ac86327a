import torch


def row_attention(msa, pair_bias, wq, wk, wv):
    # msa        s x r x c     (sequences, residues, channels)
    # pair_bias  h x r x r
    # wq/wk/wv   c x h x d
    q = torch.einsum("src,chd->srhd", msa, wq)
    k = torch.einsum("src,chd->srhd", msa, wk)
    v = torch.einsum("src,chd->srhd", msa, wv)
    att = torch.einsum("sihd,sjhd->shij", q, k) / q.shape[-1] ** 0.5 + pair_bias
    return torch.einsum("shij,sjhd->sihd", att.softmax(-1), v)
