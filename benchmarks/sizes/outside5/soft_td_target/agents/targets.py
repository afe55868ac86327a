def soft_td_target(reward, done, q_next, logp_next, alpha, gamma=0.99):
    """Soft Bellman backup for discrete actions."""
    probs = logp_next.softmax(dim=-1)
    v_next = (probs * (q_next - alpha * probs.log())).sum(dim=-1)
    return reward + gamma * (1 - done) * v_next
