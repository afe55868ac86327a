import torch
import torch.nn.functional as F


def lm_loss(hidden, wte, ids, ignore_index=-100):
    # next-token loss with the embedding matrix as output layer
    bsz, seqlen, dim = hidden.shape
    logits = hidden[:, :-1].reshape(bsz * (seqlen - 1), dim) @ wte.t()   # (B * (T - 1), V)
    return F.cross_entropy(logits, ids[:, 1:].reshape(-1), ignore_index=ignore_index)
