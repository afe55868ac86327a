import torch
from torch import nn

from recsys.losses import bpr_loss

N_USERS, N_ITEMS, DIM = 943, 1682, 32

user_emb = nn.Embedding(N_USERS, DIM)
item_emb = nn.Embedding(N_ITEMS, DIM)
opt = torch.optim.Adam([*user_emb.parameters(), *item_emb.parameters()], lr=1e-3)


def train_epoch(batch_size=256, batches=100):
    for _ in range(batches):
        u = torch.randint(0, N_USERS, (batch_size,))
        i = torch.randint(0, N_ITEMS, (batch_size,))
        j = torch.randint(0, N_ITEMS, (batch_size,))
        loss = bpr_loss(user_emb(u), item_emb(i), item_emb(j))
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    for epoch in range(10):
        train_epoch()
