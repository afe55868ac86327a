import torch
import torch.nn.functional as F


def batch_hard_triplet_loss(embeddings, labels, margin=0.3):
    """Triplet loss with batch hard mining. embeddings is (B, D), labels (B,) with person ids."""
    dist = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None, :]
    hardest_pos = (dist * same).max(dim=1)[0]
    hardest_neg = (dist + 1e6 * same).min(dim=1)[0]
    return F.relu(hardest_pos - hardest_neg + margin).mean()
