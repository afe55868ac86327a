import torch
import torch.nn.functional as F


def double_dqn_loss(q, q_next_online, q_next_target, actions, rewards, done, gamma=0.99):
    # all q values: (batch, n_actions)
    # actions (int64), rewards (float) and done (bool): (batch,)
    q_taken = q.gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = q_next_online.argmax(dim=1, keepdim=True)
        q_next = q_next_target.gather(1, best).squeeze(1)
        target = rewards + gamma * q_next * (~done).float()
    return F.smooth_l1_loss(q_taken, target)
