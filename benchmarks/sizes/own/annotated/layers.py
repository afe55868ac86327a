import torch
from torch import Tensor


def mix(x: "Float[Tensor, 'b t d']", w: "Tensor['t', 't']"):
    return torch.einsum("ts,bsd->btd", w, x)
