# mypy: ignore-errors
"""Functions whose programs have long lines: long expressions, many inputs, long sizes, layouts and calls."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def a_chain_of_activations(x: Tensor, bias: Tensor, scale: Tensor) -> Tensor:  # stepsmith: x[m, k], bias[k], scale[k]
    clamped = torch.clamp(torch.clamp(x * scale + bias, min=-0.5) * 2.0, max=1.5)
    return torch.tanh(F.softplus(clamped)) * clamped + F.leaky_relu(torch.sigmoid(clamped) - bias, 0.1) / (scale + 3)


def seven_addends(
    first_addend: Tensor,  # stepsmith: first_addend[m], second_addend[m], third_addend[m], fourth_addend[m]
    second_addend: Tensor,  # stepsmith: fifth_addend[m], sixth_addend[m], seventh_addend[m]
    third_addend: Tensor,
    fourth_addend: Tensor,
    fifth_addend: Tensor,
    sixth_addend: Tensor,
    seventh_addend: Tensor,
) -> Tensor:
    left = first_addend + second_addend * third_addend - fourth_addend
    return left * torch.exp(fifth_addend) + sixth_addend / (1 + seventh_addend * seventh_addend)


def pooled_three_times(batch_of_images: Tensor) -> Tensor:  # stepsmith: batch_of_images[n, c, height, width]
    pooled = F.max_pool2d(F.relu(batch_of_images), 3, stride=2, padding=1)
    return F.avg_pool2d(F.max_pool2d(pooled, 2), 2, stride=1)


def extremes(x: Tensor) -> tuple[Tensor, ...]:  # stepsmith: x[m, k]
    return x.amax(-1), x.amin(-1), x.mean(-1), x.sum(-1), x.prod(-1), (x * x).mean(-1)


class Transposed(nn.Module):
    """Weights and a layout with gaps and borders."""

    def __init__(self) -> None:
        super().__init__()
        self.widen = nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:  # stepsmith: x[batch_size, 3, 5, 4]
        return torch.clamp(self.norm(self.widen(x)), min=0.0, max=1.0) / 2
