import torch


def vtrace_targets(log_rhos, discounts, rewards, values, bootstrap_value, clip_rho=1.0):
    """V-trace from log importance weights.

    Args:
      log_rhos: A float32 tensor of shape [T, B] with log(pi / mu).
      discounts: A float32 tensor of shape [T, B], discounts met when following
        the behaviour policy.
      rewards: A float32 tensor of shape [T, B].
      values: A float32 tensor of shape [T, B], value estimates wrt. the target
        policy.
      bootstrap_value: A float32 of shape [B], value estimate at time T.
      clip_rho: clipping threshold of the importance weights.

    Returns:
      A tensor of shape [T, B].
    """
    rhos = torch.exp(log_rhos)
    clipped = torch.clamp(rhos, max=clip_rho)
    cs = torch.clamp(rhos, max=1.0)
    next_values = torch.cat([values[1:], bootstrap_value.unsqueeze(0)], dim=0)
    deltas = clipped * (rewards + discounts * next_values - values)
    acc = torch.zeros_like(bootstrap_value)
    out = []
    for t in range(discounts.shape[0] - 1, -1, -1):
        acc = deltas[t] + discounts[t] * cs[t] * acc
        out.append(acc)
    return torch.stack(out[::-1]) + values
