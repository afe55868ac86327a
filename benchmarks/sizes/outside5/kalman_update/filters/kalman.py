import torch


def update(x, P, z, H, R):
    # x [n] state mean          P [n, n] state covariance
    # z [m] measurement         H [m, n] observation model     R [m, m] noise
    y = z - H @ x
    S = H @ P @ H.T + R
    K = P @ H.T @ torch.linalg.pinv(S)
    x_new = x + K @ y
    I_KH = torch.eye(x.numel()) - K @ H
    P_new = I_KH @ P @ I_KH.T + K @ R @ K.T
    return x_new, P_new
