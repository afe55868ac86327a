import torch


def fm_predict(x, w, v):
    batch, n_features = x.shape
    linear = torch.mv(x, w)
    square_of_sum = torch.mm(x, v).pow(2)
    sum_of_square = torch.mm(x.pow(2), v.pow(2))
    pairwise = 0.5 * (square_of_sum - sum_of_square).sum(dim=1)
    return torch.sigmoid(linear + pairwise)
