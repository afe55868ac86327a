import torch


def mix_experts(x, gates, experts):
    """Soft mixture of linear experts.

    x: b d
    gates: b e
    experts: e d o
    out: b o
    """
    per_expert = torch.einsum("bd,edo->beo", x, experts)
    return (gates.softmax(-1).unsqueeze(-1) * per_expert).sum(1)
