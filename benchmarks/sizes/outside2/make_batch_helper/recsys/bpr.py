import torch.nn.functional as F


def bpr_loss(users, pos, neg, l2=1e-4):
    margin = (users * (pos - neg)).sum(-1)
    reg = users.pow(2).sum() + pos.pow(2).sum() + neg.pow(2).sum()
    return -F.logsigmoid(margin).mean() + l2 * reg / users.shape[0]
