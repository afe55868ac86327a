import torch


def rbf(a, b, lengthscale):
    return torch.exp(-0.5 * (torch.cdist(a, b) / lengthscale) ** 2)


def posterior(x_train, y, x_test, lengthscale=0.5, noise=0.1):
    n, d = x_train.shape
    K = rbf(x_train, x_train, lengthscale) + noise * torch.eye(n)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y.unsqueeze(1), L).squeeze(1)
    Ks = rbf(x_train, x_test, lengthscale)
    v = torch.linalg.solve_triangular(L, Ks, upper=False)
    mean = torch.mv(Ks.t(), alpha)
    var = 1.0 - v.pow(2).sum(dim=0)
    return mean, var
