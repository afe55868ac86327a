import torch
import torch.nn.functional as F


def mix(agent_qs, w1, b1, w2, v):
    """Monotonic mixing of the agents' utilities (the weights come from the hypernetworks)."""
    # agent_qs (bs, n_agents)
    # w1       (bs, n_agents, embed_dim)
    # b1       (bs, 1, embed_dim)
    # w2       (bs, embed_dim, 1)
    # v        (bs, 1)
    hidden = F.elu(torch.bmm(agent_qs.unsqueeze(1), w1.abs()) + b1)  # (bs, 1, embed_dim)
    q_tot = torch.bmm(hidden, w2.abs()).squeeze(-1) + v  # (bs, 1)
    return q_tot
