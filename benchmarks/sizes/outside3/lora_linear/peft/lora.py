import torch
import torch.nn.functional as F


def lora_linear(x, weight, lora_A, lora_B, alpha=16.0):
    # rank r update: W + alpha / r * B A
    r = lora_A.shape[0]
    return F.linear(x, weight) + (alpha / r) * F.linear(F.linear(x, lora_A), lora_B)
