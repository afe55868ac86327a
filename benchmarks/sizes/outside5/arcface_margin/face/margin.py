import math

import torch
import torch.nn.functional as F


def arcface_logits(embeddings, weight, labels, s=30.0, m=0.5):
    n = embeddings.size(0)
    cosine = torch.mm(F.normalize(embeddings, dim=1), F.normalize(weight, dim=1).t())
    sine = (1.0 - cosine.pow(2)).clamp(0, 1).sqrt()
    phi = cosine * math.cos(m) - sine * math.sin(m)
    one_hot = torch.zeros_like(cosine)
    one_hot.scatter_(1, labels.view(n, 1), 1)
    return s * (one_hot * phi + (1.0 - one_hot) * cosine)
