import torch
import torch.nn.functional as F


def negative_sampling_loss(center, context, negatives):
    pos = F.logsigmoid((center * context).sum(dim=1))
    neg = torch.bmm(negatives, center.unsqueeze(2)).squeeze(2)
    neg = F.logsigmoid(-neg).sum(dim=1)
    return -(pos + neg).mean()
