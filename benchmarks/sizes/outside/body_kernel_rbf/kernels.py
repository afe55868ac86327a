def rbf_kernel(x, y, lengthscale):
    n, d = x.shape
    m, _ = y.shape
    ls = lengthscale.reshape(1, d)
    diff = (x / ls).unsqueeze(1) - (y / ls).unsqueeze(0)
    return (-0.5 * diff.pow(2).sum(dim=2)).exp()
