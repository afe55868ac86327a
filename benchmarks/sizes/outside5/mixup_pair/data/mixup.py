def mixup(x1, x2, y1, y2, lam):
    x = lam * x1 + (1 - lam) * x2
    y = lam * y1 + (1 - lam) * y2
    return x, y
