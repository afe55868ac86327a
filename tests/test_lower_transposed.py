"""Transposed convolutions by phases: affine reads for each stride, padding and dilation, with no zeros between."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import nn

from lower_trace import trace
from stepagents.lower.aten.products import _Phases
from stepagents.lower.search import LoweringOptions, VerifiedProgram, lower
from stepagents.torchfn.checks import make_checks


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_phases_meet_exactly_the_products_of_the_definition(stride: int) -> None:
    for padding, dilation, kernel in product(range(4), range(1, 5), range(1, 6)):
        each = _Phases.of(stride, padding, dilation, kernel)
        for place in range(3 * stride):
            wanted = {(j, k) for j in range(9) for k in range(kernel) if stride * j + dilation * k == place + padding}
            coarse, within = divmod(place, stride)
            phase, rest = (0, within) if each.share == stride else divmod(within, each.share)
            found = set()
            for number in range(each.first, each.first + each.count):
                j = coarse - (phase + each.start) * each.back - number * each.jump
                k = (phase + each.start) * each.turn + number * each.step
                k += (rest - each.rest) * (each.beyond + kernel)
                if 0 <= k < kernel and 0 <= j < 9:
                    found.add((j, k))
            assert found == wanted, (stride, padding, dilation, kernel, place)


def programs(module: nn.Module, *shape: int) -> list[VerifiedProgram]:
    torch.manual_seed(0)
    traced = trace(module, [torch.randn(shape)])
    found = lower(traced, make_checks(traced, 0).data, LoweringOptions(wanted=1, candidates=2))
    assert not found.rejected
    return found.candidates


@pytest.mark.parametrize(
    ("module", "shape", "taken"),
    [
        (nn.ConvTranspose1d(2, 2, 3, stride=2, padding=1), (2, 2, 4), "take [2, 2, 7]"),  # the stride does not divide
        (nn.ConvTranspose1d(4, 2, 4, stride=3, padding=1, dilation=2, groups=2), (1, 4, 3), "take [1, 2, 11]"),
        (
            nn.ConvTranspose1d(1, 1, 3, stride=4, dilation=2),
            (1, 1, 3),
            "take [1, 1, 13]",
        ),  # stride and dilation share 2
        (nn.ConvTranspose1d(1, 1, 1, stride=4, dilation=2, padding=2, output_padding=2), (1, 1, 2), "take [1, 1, 3]"),
        (nn.ConvTranspose2d(2, 2, (3, 2), stride=(2, 3), output_padding=(1, 0)), (1, 2, 3, 2), "take [1, 2, 8, 5]"),
        (nn.ConvTranspose1d(2, 2, 5, dilation=2, padding=2), (1, 2, 4), ""),  # no stride: no phases
    ],
)
def test_a_transposed_convolution_reads_no_zeros_between_elements(
    module: nn.Module, shape: tuple[int, ...], taken: str
) -> None:
    (candidate,) = programs(module, *shape)
    assert all(step == 1 for layout in candidate.emitted.inputs for step in layout.steps)
    (output,) = candidate.emitted.outputs
    assert output.text().endswith(taken)


def test_zeros_remain_where_an_intermediate_result_has_no_phases() -> None:
    """A mean over 7 places cannot be split into pairs of them."""
    module = nn.Sequential(nn.ConvTranspose1d(2, 2, 3, stride=2, padding=1), nn.AdaptiveAvgPool1d(1))
    (candidate,) = programs(module, 1, 2, 4)
    assert any(step > 1 for layout in candidate.emitted.inputs for step in layout.steps)
