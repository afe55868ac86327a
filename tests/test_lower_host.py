"""What the host does: affine reads against the operations of torch that they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from stepagents.lower.emit import reads_whole
from stepcore.graph.layouts import InputLayout, OutputLayout, ReadPlace
from stepcore.sim.layout import laid_out, read
from stepcore.sizes.dim import Dim

H = Dim.symbol("H")


@dataclass(frozen=True)
class Axis:
    """One dimension of a tensor that is read: places count in the tensor, without its padding."""

    size: Dim
    ends: tuple[Dim, Dim]
    step: int
    place: ReadPlace


@dataclass(frozen=True)
class Stream:
    """A layout with the sizes of its stream, outermost first."""

    layout: InputLayout
    loops: tuple[Dim, ...]

    def read(self, tensor: torch.Tensor, sizes: dict[str, int]) -> torch.Tensor:
        return read(self.layout, tensor, [size.bind(sizes) for size in self.loops], sizes)


def dim(
    size: Dim | int, *factors: tuple[int, int], before: int = 0, after: int = 0, offset: int = 0, step: int = 1
) -> Axis:
    pairs = tuple((loop, Dim.of(factor)) for loop, factor in factors)
    return Axis(Dim.of(size), (Dim.of(before), Dim.of(after)), step, ReadPlace(Dim.of(offset + before), pairs))


def layout(dims: tuple[Axis, ...], loops: tuple[Dim | int, ...], fill: float = 0.0) -> Stream:
    sizes, steps, ends = (tuple(getattr(each, name) for each in dims) for name in ("size", "step", "ends"))
    found = InputLayout("x", sizes, steps, ends, fill, tuple(each.place for each in dims))
    return Stream(found, tuple(Dim.of(size) for size in loops))


def test_the_tensor_itself() -> None:
    x = torch.randn(3, 4)
    own = layout((dim(3, (0, 1)), dim(4, (1, 1))), (3, 4))
    assert reads_whole(own.layout, own.loops)
    assert torch.equal(own.read(x, {}), x)


def test_a_permutation_and_a_repetition() -> None:
    x = torch.randn(3, 4)
    turned = layout((dim(3, (2, 1)), dim(4, (0, 1))), (4, 5, 3))
    assert not reads_whole(turned.layout, turned.loops)
    assert torch.equal(turned.read(x, {}), x.T[:, None].expand(4, 5, 3))


def test_padded_windows_are_unfolded_ones() -> None:
    x = torch.randn(2, 6)
    windows = layout((dim(2, (0, 1)), dim(6, (1, 2), (2, 1), before=1, after=1, offset=-1)), (2, 3, 3), float("-inf"))
    expected = F.pad(x, (1, 1), value=float("-inf")).unfold(1, 3, 2)
    assert torch.equal(windows.read(x, {}), expected)
    assert "pad [(0, 0), (1, 1)] with -inf; read [i0, 2*i1 + i2]" in windows.layout.text()


def test_backwards() -> None:
    x = torch.randn(5)
    turned = layout((dim(5, (0, -1), offset=4),), (5,))
    assert torch.equal(turned.read(x, {}), x.flip(0))


def test_zeros_between_elements() -> None:
    x = torch.randn(3)
    stuffed = layout((dim(3, (0, 1), before=1, after=1, offset=-1, step=2),), (7,))
    expected = torch.zeros(7)
    expected[1:6:2] = x
    assert torch.equal(stuffed.read(x, {}), expected)


def test_sizes_are_bound_when_it_is_read() -> None:
    padded = layout((dim(H, (0, 1), after=1),), (H + 1,))
    for size in (1, 6):
        x = torch.randn(size)
        assert torch.equal(padded.read(x, {"H": size}), F.pad(x, (0, 1)))


def test_results_are_permuted_and_merged() -> None:
    result = torch.randn(6, 5)
    # The stream runs over the second dimension first; the first one is two loops.
    back = OutputLayout(order=(1, 2, 0), groups=(2, 1))
    laid = laid_out(back, result, (5, 2, 3), {})
    assert torch.equal(laid, result.reshape(2, 3, 5).permute(2, 0, 1))
    assert not back.is_identity
    assert OutputLayout((0, 1), (1, 1)).is_identity
