import math

import torch


def gmm_log_prob(x, means, log_scales, logits):
    """Log density of a mixture of diagonal Gaussians.

    Args:
      x: Tensor[n, d], the points.
      means: Tensor[k, d], centres of the k components.
      log_scales: Tensor[k, d], log standard deviations.
      logits: Tensor[k], unnormalised log weights.

    Returns:
      Tensor[n], log p(x).
    """
    z = (x.unsqueeze(1) - means) * torch.exp(-log_scales)
    comp = -0.5 * z.square() - log_scales - 0.5 * math.log(2 * math.pi)
    log_w = logits - torch.logsumexp(logits, dim=0)
    return torch.logsumexp(comp.sum(-1) + log_w, dim=-1)
