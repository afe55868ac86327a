import itertools

import torch


def pit_si_sdr(est, ref, eps=1e-8):
    # est, ref: (batch, n_src, time)
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)

    e, r = est.unsqueeze(1), ref.unsqueeze(2)           # (batch, 1, src, time), (batch, src, 1, time)
    scale = (e * r).sum(-1, keepdim=True) / (r.pow(2).sum(-1, keepdim=True) + eps)
    proj = scale * r
    noise = e - proj
    ratio = proj.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps)
    pairwise = 10 * torch.log10(ratio + eps)             # (batch, src, src)

    # brute force is fine for a few speakers
    n_src = ref.shape[1]
    if n_src > 4:
        perms = [tuple((i + k) % n_src for i in range(n_src)) for k in range(n_src)]
    else:
        perms = list(itertools.permutations(range(n_src)))
    idx = torch.arange(n_src)
    scores = torch.stack([pairwise[:, idx, list(p)].mean(-1) for p in perms], dim=1)
    return scores.max(dim=1).values
