import torch


def adam_update(param, grad, exp_avg, exp_avg_sq, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    exp_avg = b1 * exp_avg + (1 - b1) * grad
    exp_avg_sq = b2 * exp_avg_sq + (1 - b2) * grad * grad
    return param - lr * exp_avg / (exp_avg_sq.sqrt() + eps), exp_avg, exp_avg_sq


if __name__ == "__main__":
    w = torch.randn(12, 20)
    g = torch.randn(12, 20)
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    for _ in range(3):
        w, m, v = adam_update(w, g, m, v)
    print(w.norm())
