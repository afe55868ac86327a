import torch


def euler_step(state, control, A, B, dt=0.05):
    dstate = state @ A.mT + control @ B.mT
    return state + dt * dstate


def rollout(state, controls, A, B):
    traj = [state]
    for control in controls:
        traj.append(euler_step(traj[-1], control, A, B))
    return torch.stack(traj)
