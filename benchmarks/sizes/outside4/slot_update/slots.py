import torch


def slot_attention_step(inputs, slots, to_q, to_k, to_v, eps=1e-8):
    # inputs: B x N x D, slots: B x K x D, the projections are D x D
    k = inputs @ to_k
    v = inputs @ to_v
    q = slots @ to_q

    dots = torch.einsum("bkd,bnd->bkn", q, k) * q.shape[-1] ** -0.5
    # slots compete for the inputs
    attn = dots.softmax(dim=1) + eps
    attn = attn / attn.sum(dim=-1, keepdim=True)
    return torch.einsum("bkn,bnd->bkd", attn, v), attn
