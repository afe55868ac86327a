import torch


def cox_ph_loss(log_hazard, time, event):
    """Negative partial log likelihood of the Cox model (Breslow ties).

    One entry per patient; ``event`` is 1 if the death was observed and 0 if censored.
    """
    order = torch.argsort(time, descending=True)
    log_hazard = log_hazard[order]
    event = event[order].float()
    log_risk = torch.logcumsumexp(log_hazard, dim=0)
    return -((log_hazard - log_risk) * event).sum() / event.sum().clamp(min=1.0)
