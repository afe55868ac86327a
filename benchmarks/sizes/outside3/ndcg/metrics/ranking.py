import torch


def ndcg_at_k(scores, relevance, k=10):
    """Normalised discounted cumulative gain.

    Args:
        scores: predicted scores `(num_users, num_items)`
        relevance: graded relevance `(num_users, num_items)`
        k: cut-off

    Returns:
        NDCG@k of each user `(num_users,)`
    """
    k = min(k, scores.size(-1))
    gains = 2.0 ** relevance - 1
    discount = 1.0 / torch.log2(torch.arange(k) + 2.0)
    order = scores.topk(k, dim=-1).indices
    dcg = (gains.gather(-1, order) * discount).sum(-1)
    idcg = (gains.topk(k, dim=-1).values * discount).sum(-1)
    return dcg / idcg.clamp(min=1e-8)
