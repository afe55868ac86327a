# %%
import torch
from sinkhorn import sinkhorn

# %%
n_src, n_tgt = 12, 15
x, y = torch.rand(n_src, 2), torch.rand(n_tgt, 2)
cost = torch.cdist(x, y) ** 2
a = torch.full((n_src,), 1.0 / n_src)
b = torch.full((n_tgt,), 1.0 / n_tgt)

# %%
plan = sinkhorn(cost, a, b)
print(plan.sum(1), plan.sum(0))
