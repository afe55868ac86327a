import torch
import torch.nn.functional as F


def sampled_softmax_loss(user, positive, negatives, log_q, temperature=0.07):
    """
    Sampled softmax with the logQ correction for two-tower retrieval models.

    Users and their positive items are embedded as (B, D). For each of the B users there are K
    sampled items in `negatives`, which therefore is (B, K, D), and `log_q` holds the log sampling
    probability of each of these negatives, (B, K).

    The loss is averaged over the batch.
    """
    user = F.normalize(user, dim=-1)
    pos = (user * F.normalize(positive, dim=-1)).sum(-1, keepdim=True) / temperature
    neg = torch.einsum("bd,bkd->bk", user, F.normalize(negatives, dim=-1)) / temperature
    logits = torch.cat([pos, neg - log_q], dim=1)
    target = torch.zeros(len(logits), dtype=torch.long)
    return F.cross_entropy(logits, target)
