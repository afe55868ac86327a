import torch


def compute_gae(rewards, values, dones, gamma=0.99, lam=0.95):
    """Generalized advantage estimation.

    Args:
        rewards: (T, N) rewards of N parallel environments
        values: (T + 1, N) value estimates, the last row is the bootstrap value
        dones: (T, N) 1.0 where an episode ended, otherwise 0.0
    """
    adv = torch.zeros_like(rewards)
    last = torch.zeros_like(rewards[0])
    for t in reversed(range(rewards.shape[0])):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * values[t + 1] * alive - values[t]
        last = delta + gamma * lam * alive * last
        adv[t] = last
    return adv, adv + values[:-1]
