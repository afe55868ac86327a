import torch


def update(x, P, z, H, R):
    S = H @ P @ H.T + R
    K = torch.linalg.solve(S, H @ P.T).T
    x = x + K @ (z - H @ x)
    I = torch.eye(P.shape[0])
    P = (I - K @ H) @ P
    return x, P
