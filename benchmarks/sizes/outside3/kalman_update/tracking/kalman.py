import torch


def update(mean, cov, z, H, R):
    """Kalman measurement update.

    Parameters
    ----------
    mean : Tensor, shape (n,)
        Predicted state.
    cov : Tensor, shape (n, n)
        Covariance of the predicted state.
    z : Tensor, shape (m,)
        Measurement.
    H : Tensor, shape (m, n)
        Observation matrix.
    R : Tensor, shape (m, m)
        Measurement noise.
    """
    innovation = z - H @ mean
    S = H @ cov @ H.T + R
    K = torch.linalg.solve(S, H @ cov.T).T
    mean = mean + K @ innovation
    cov = (torch.eye(mean.shape[0]) - K @ H) @ cov
    return mean, cov
