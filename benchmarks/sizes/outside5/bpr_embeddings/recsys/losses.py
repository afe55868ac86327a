import torch.nn.functional as F


def bpr_loss(user, pos, neg, reg=1e-4):
    diff = (user * pos).sum(-1) - (user * neg).sum(-1)
    l2 = user.pow(2).sum(-1) + pos.pow(2).sum(-1) + neg.pow(2).sum(-1)
    return (-F.logsigmoid(diff) + reg * l2).mean()
