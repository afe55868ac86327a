import torch


def predict_ctr(user, item, w, out):
    z = torch.cat([user, item], dim=1)
    hidden = torch.relu(z @ w)
    return torch.sigmoid(hidden @ out)
