"""Programs for sizes that are symbols: they agree with the function at other sizes too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from lower_trace import trace
from stepagents.lower.search import lower
from stepagents.torchfn.checks import make_checks

B, S, D, T = 11, 13, 17, 19
SIZES = {"B": B, "S": S, "D": D, "T": T}
FUNCTIONS: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (lambda x: torch.relu(x) + 1, [(B, S)]),
    (lambda x, w: F.gelu(x @ w), [(S, D), (D, T)]),
    (lambda x: torch.softmax(x, 0), [(S, D)]),
    (lambda x: x.mean((0, 2)), [(B, S, D)]),
    (lambda x: (x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, keepdim=True) + 1e-5), [(S, D)]),
    (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, [(B, S, D), (B, T, D), (B, T, D)]),
    (lambda x, w: F.conv2d(x, w, padding=1), [(B, 3, S, D), (4, 3, 3, 3)]),
    (lambda x: torch.cumsum(x, 0), [(S, D)]),
    (lambda x, y: torch.cat([x, y], 0), [(S, D), (T, D)]),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_programs_hold_at_all_sizes(number: int) -> None:
    function, shapes = FUNCTIONS[number]
    torch.manual_seed(0)
    used = {name: size for name, size in SIZES.items() if any(size in shape for shape in shapes)}
    traced = trace(function, [torch.randn(shape) for shape in shapes], sizes=used, fitted=_fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the variance of one number
        data = make_checks(traced, 0).data
    assert len(data) >= 2
    found = lower(traced, data=data)
    assert found.candidates, found.unsupported or found.rejected
    assert not found.rejected
    assert set(dict(found.candidates[0].emitted.spec.defaults)) == set(used)


def test_a_size_that_was_not_followed_is_no_program() -> None:
    traced = trace(lambda x: x[: S - 2], [torch.randn(S)], sizes={"S": S})
    checks = make_checks(traced, 0)
    assert checks.differing
    assert [data.sizes for data in checks.data] == [{"S": S}]


def _fit(size: int) -> str | None:
    """Sums of sizes that the functions above make."""
    return {S + T: "S + T"}.get(size)
