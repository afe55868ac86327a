import torch


def vtrace_targets(log_rhos, discounts, rewards, values, bootstrap_value, clip_rho=1.0):
    # everything is time-major, [T, B]; bootstrap_value is [B]
    rhos = torch.exp(log_rhos)
    clipped = rhos.clamp(max=clip_rho)
    cs = rhos.clamp(max=1.0)
    next_values = torch.cat([values[1:], bootstrap_value.unsqueeze(0)], dim=0)
    deltas = clipped * (rewards + discounts * next_values - values)

    acc = torch.zeros_like(bootstrap_value)
    out = []
    for t in range(values.shape[0] - 1, -1, -1):
        acc = deltas[t] + discounts[t] * cs[t] * acc
        out.append(acc)
    out.reverse()
    return torch.stack(out) + values
