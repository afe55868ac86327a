import torch.nn.functional as F


def cosine_matrix(x, y):
    """
    Cosine similarity of every row of x with every row of y.

    :param x: tensor of size [batch x dim]
    :param y: tensor of size [classes x dim]
    :return: tensor of size [batch x classes]
    """
    return F.normalize(x, dim=-1) @ F.normalize(y, dim=-1).t()
