"""What the host does: affine reads against the operations of torch that they stand for."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from stepagents.lower.host import HostDim, InputLayout, OutputLayout
from stepcore.sizes.dim import Dim

H = Dim.symbol("H")


def dim(
    size: Dim | int, *factors: tuple[int, int], before: int = 0, after: int = 0, offset: int = 0, step: int = 1
) -> HostDim:
    pairs = tuple((loop, Dim.of(factor)) for loop, factor in factors)
    return HostDim(Dim.of(size), Dim.of(before), Dim.of(after), step, Dim.of(offset), pairs)


def layout(dims: tuple[HostDim, ...], loops: tuple[Dim | int, ...], fill: str = "0") -> InputLayout:
    return InputLayout("x", "x", "input", "fp32", dims, tuple(Dim.of(size) for size in loops), fill)


def test_the_tensor_itself() -> None:
    x = torch.randn(3, 4)
    own = layout((dim(3, (0, 1)), dim(4, (1, 1))), (3, 4))
    assert own.is_identity
    assert torch.equal(own.read(x, {}), x)


def test_a_permutation_and_a_repetition() -> None:
    x = torch.randn(3, 4)
    read = layout((dim(3, (2, 1)), dim(4, (0, 1))), (4, 5, 3))
    assert not read.is_identity
    assert torch.equal(read.read(x, {}), x.T[:, None].expand(4, 5, 3))


def test_padded_windows_are_unfolded_ones() -> None:
    x = torch.randn(2, 6)
    windows = layout((dim(2, (0, 1)), dim(6, (1, 2), (2, 1), before=1, after=1, offset=-1)), (2, 3, 3), "-torch.inf")
    expected = F.pad(x, (1, 1), value=float("-inf")).unfold(1, 3, 2)
    assert torch.equal(windows.read(x, {}), expected)
    assert "pad [(0, 0), (1, 1)] with -torch.inf; read [i0, 2*i1 + i2]" in windows.text()


def test_backwards() -> None:
    x = torch.randn(5)
    read = layout((dim(5, (0, -1), offset=4),), (5,))
    assert torch.equal(read.read(x, {}), x.flip(0))


def test_zeros_between_elements() -> None:
    x = torch.randn(3)
    read = layout((dim(3, (0, 1), before=1, after=1, offset=-1, step=2),), (7,))
    expected = torch.zeros(7)
    expected[1:6:2] = x
    assert torch.equal(read.read(x, {}), expected)


def test_sizes_are_bound_when_it_is_read() -> None:
    read = InputLayout(
        "x", "x", "input", "fp32", (HostDim(H, Dim.of(0), Dim.of(1), factors=((0, Dim.of(1)),)),), (H + 1,)
    )
    for size in (1, 6):
        x = torch.randn(size)
        assert torch.equal(read.read(x, {"H": size}), F.pad(x, (0, 1)))


def test_results_are_permuted_and_merged() -> None:
    result = torch.randn(6, 5)
    # The stream runs over the second dimension first; the first one is two loops.
    back = OutputLayout("S0", order=(1, 2, 0), groups=(2, 1))
    laid = back.laid_out(result, (5, 2, 3))
    assert torch.equal(laid, result.reshape(2, 3, 5).permute(2, 0, 1))
    assert not back.is_identity
    assert OutputLayout("S0", (0, 1), (1, 1)).is_identity
