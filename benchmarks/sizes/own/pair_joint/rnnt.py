import torch
import torch.nn as nn


class Joint(nn.Module):
    def __init__(self, enc_dim=144, pred_dim=320, joint_dim=128, vocab=29):
        super().__init__()
        self.enc_proj = nn.Linear(enc_dim, joint_dim)
        self.pred_proj = nn.Linear(pred_dim, joint_dim)
        self.out = nn.Linear(joint_dim, vocab)

    def forward(self, enc, pred):
        h = self.enc_proj(enc).unsqueeze(2) + self.pred_proj(pred).unsqueeze(1)
        return self.out(torch.tanh(h)).log_softmax(-1)
