def lora_linear(x, w, lora_a, lora_b, alpha=8.0):
    b, d_in = x.shape
    d_out, _ = w.shape
    r = lora_a.size(0)
    delta = lora_b.view(d_out, r).mm(lora_a.view(r, d_in))
    return x.mm((w + alpha / r * delta).t())
