import torch
import torch.nn.functional as F


def sampled_softmax(user, pos, neg, temperature=0.1):
    """Softmax loss of the positive item against sampled negatives.

    Args:
        user: user embeddings, ``(B, D)``
        pos: embeddings of the clicked items, like ``user``
        neg: embeddings of the negatives, K for each user
    """
    pos_score = (user * pos).sum(-1, keepdim=True)              # B, 1
    neg_score = torch.einsum("bd,bkd->bk", user, neg)
    logits = torch.cat([pos_score, neg_score], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
