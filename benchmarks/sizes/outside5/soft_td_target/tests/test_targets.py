import torch

from agents.targets import soft_td_target


def test_terminal_states_are_not_bootstrapped():
    B, n_actions = 32, 6
    target = soft_td_target(
        reward=torch.ones(B),
        done=torch.ones(B),
        q_next=torch.randn(B, n_actions),
        logp_next=torch.randn(B, n_actions),
        alpha=torch.tensor(0.2),
    )
    assert target.shape == (B,)
    assert torch.equal(target, torch.ones(B))
