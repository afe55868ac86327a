import math
import torch


def self_attention(x, wqkv, wo):
    B, T, C = x.shape
    q, k, v = torch.matmul(x, wqkv).split(C, dim=2)
    att = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(C)
    y = torch.bmm(att.softmax(-1), v)
    return torch.matmul(y.view(B * T, C), wo.view(C, C)).view(B, T, C)
