import torch
import torch.nn.functional as F


def quantile_huber_loss(theta, target, taus, kappa=1.0):
    """Quantile regression loss of QR-DQN.

    Parameters
    ----------
    theta : Tensor
        Predicted quantiles of the taken actions, ``(batch, n_quantiles)``.
    target : Tensor
        Target samples, ``(batch, n_target_quantiles)``.
    taus : Tensor
        Quantile midpoints, ``(n_quantiles,)``.
    kappa : float
        Where the Huber loss becomes linear.
    """
    td = target.unsqueeze(1) - theta.unsqueeze(2)
    huber = torch.where(td.abs() <= kappa, 0.5 * td.pow(2), kappa * (td.abs() - 0.5 * kappa))
    weight = (taus[None, :, None] - (td.detach() < 0).float()).abs()
    return (weight * huber / kappa).mean(dim=2).sum(dim=1).mean()
