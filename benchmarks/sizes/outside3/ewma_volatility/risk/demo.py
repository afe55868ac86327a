import torch

from vol import ewma_vol

n_days, n_stocks = 250, 30
rets = 0.01 * torch.randn(n_days, n_stocks)
vol = ewma_vol(rets)
print("annualised:", (vol[-1] * 252 ** 0.5).mean())
