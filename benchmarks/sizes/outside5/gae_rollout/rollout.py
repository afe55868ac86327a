import torch


def compute_gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """Generalized advantage estimation (Schulman et al., 2016).

    Args:
        rewards: rewards collected by the runner, ``[T, N]`` for T steps of N parallel envs
        values: critic outputs along the rollout, ``[T, N]``
        dones: ``[T, N]`` bool tensor, True where the episode ended *after* the step
        last_value: bootstrap value of the state after the rollout, ``[N]``
        gamma: discount
        lam: GAE lambda

    Returns:
        advantages and returns, both ``[T, N]``
    """
    advantages = torch.zeros_like(rewards)
    gae = 0.0
    next_value = last_value
    for t in reversed(range(rewards.shape[0])):
        alive = (~dones[t]).float()
        delta = rewards[t] + gamma * next_value * alive - values[t]
        gae = delta + gamma * lam * alive * gae
        advantages[t] = gae
        next_value = values[t]
    return advantages, advantages + values
