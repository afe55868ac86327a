import torch


def predict_ratings(user_ids, item_ids, P, Q, user_bias, item_bias, global_mean=3.5):
    num_users, rank = P.shape
    num_items, _ = Q.shape
    assert len(user_bias) == num_users and len(item_bias) == num_items
    bsz, = user_ids.shape
    interaction = torch.bmm(P[user_ids].view(bsz, 1, rank), Q[item_ids].view(bsz, rank, 1))
    return global_mean + user_bias[user_ids] + item_bias[item_ids] + interaction.view(bsz)
