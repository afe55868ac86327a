import torch
import torch.nn.functional as F


def contrast(q, k, queue, T=0.07):
    q = F.normalize(q, dim=1)  # queries: NxC
    k = F.normalize(k, dim=1)  # keys: NxC
    queue = queue.clone().detach()  # negatives: CxK

    # positive logits: Nx1
    l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
    # negative logits: NxK
    l_neg = torch.einsum("nc,ck->nk", [q, queue])

    # logits: Nx(1+K)
    logits = torch.cat([l_pos, l_neg], dim=1) / T
    labels = torch.zeros(logits.shape[0], dtype=torch.long)
    return F.cross_entropy(logits, labels)
