import torch


def kalman_step(x, P, z, A, Q, H, R):
    # predict
    x = A @ x
    P = A @ P @ A.T + Q
    # update
    innovation = z - H @ x
    S = H @ P @ H.T + R
    K = P @ H.T @ torch.linalg.pinv(S)
    x = x + K @ innovation
    P = (torch.eye(P.shape[0]) - K @ H) @ P
    return x, P
