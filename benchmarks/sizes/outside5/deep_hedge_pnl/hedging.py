import torch


def hedge_pnl(
    paths,   # (n_paths, n_steps + 1, n_assets) prices
    deltas,  # (n_paths, n_steps, n_assets) holdings between two dates
    payoff,  # (n_paths,) liability at maturity
    cost,    # (n_assets,) proportional cost
):
    gains = (deltas * (paths[:, 1:] - paths[:, :-1])).sum(dim=(1, 2))
    first = deltas[:, :1].abs() * paths[:, :1]
    rest = (deltas[:, 1:] - deltas[:, :-1]).abs() * paths[:, 1:-1]
    turnover = torch.cat([first, rest], dim=1).sum(dim=1)  # (n_paths, n_assets)
    return gains - turnover @ cost - payoff
