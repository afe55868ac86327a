import torch


def compute_gae(rewards, values, dones, gamma=0.99, lam=0.95):
    num_steps, num_envs = rewards.shape
    assert values.shape == (num_steps + 1, num_envs)
    advantages = torch.zeros_like(rewards)
    last = torch.zeros(num_envs)
    for t in reversed(range(num_steps)):
        not_done = 1.0 - dones[t]
        delta = rewards[t] + gamma * values[t + 1] * not_done - values[t]
        last = delta + gamma * lam * not_done * last
        advantages[t] = last
    return advantages, advantages + values[:-1]
