import torch

from dynamics import euler_step, rollout

n_batch, n_state, n_ctrl, horizon = 16, 4, 2, 25
A = torch.randn(n_state, n_state)
B = torch.randn(n_state, n_ctrl)
state = torch.zeros(n_batch, n_state)
controls = torch.randn(horizon, n_batch, n_ctrl)

once = euler_step(state, controls[0], A, B)
traj = rollout(state, controls, A, B)
assert torch.equal(traj[1], once)
