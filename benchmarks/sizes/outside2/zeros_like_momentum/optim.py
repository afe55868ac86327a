def adam_update(p, grad, m, v, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, t=1):
    m = b1 * m + (1 - b1) * grad
    v = b2 * v + (1 - b2) * grad * grad
    m_hat = m / (1 - b1 ** t)
    v_hat = v / (1 - b2 ** t)
    return p - lr * m_hat / (v_hat.sqrt() + eps), m, v
