import torch


def slate_scores(user, items, bias):
    # user:  (B, D)     embedding of the user of each request
    # items: (B, K, D)  embeddings of the K candidates in the slate
    # bias:  (B, K)     popularity prior
    s = (items * user.unsqueeze(1)).sum(-1)
    s = s / user.shape[-1] ** 0.5 + bias
    return torch.softmax(s, dim=1)
