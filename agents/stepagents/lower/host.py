"""What the host does around a program: affine reads of padded tensors stream in, results are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class HostDim:
    """How one dimension of the tensor is read.

    The tensor gets ``step - 1`` zeros between neighbours, then ``before`` and ``after`` elements of padding around it;
    the place read is ``offset`` plus the sum of factor times loop.
    """

    size: Dim
    before: Dim = field(default_factory=lambda: Dim.of(0))
    after: Dim = field(default_factory=lambda: Dim.of(0))
    step: int = 1
    offset: Dim = field(default_factory=lambda: Dim.of(0))
    factors: tuple[tuple[int, Dim], ...] = ()  # (number of the loop in ``loops``, factor)


class OutOfReach(ValueError):
    """At these sizes a layout reads places that its tensor does not have."""


@dataclass(frozen=True, slots=True)
class InputLayout:
    """One input stream as an affine read of a tensor.

    ``source`` is the name of a traced input; ``kind`` is ``input``, or ``arange`` or ``ones`` for a tensor 0, 1, 2, ...
    or of ones with the sizes of ``dims``. ``loops`` are the sizes of the stream's tensor, outermost first; ``fill`` is
    what padding holds.
    """

    stream: str
    source: str
    kind: str
    dtype: str
    dims: tuple[HostDim, ...]
    loops: tuple[Dim, ...]
    fill: str = "0"

    @property
    def is_identity(self) -> bool:
        """Whether the stream is the tensor as it is."""
        plain = all(d.before == 0 and d.after == 0 and d.step == 1 and d.offset == 0 for d in self.dims)
        own = tuple(d.factors for d in self.dims) == tuple(((i, Dim.of(1)),) for i in range(len(self.dims)))
        return plain and own and self.loops == tuple(d.size for d in self.dims) and self.kind == "input"

    def symbols(self) -> frozenset[str]:
        """Return the symbols of all sizes that the layout needs."""
        sizes = [*self.loops]
        for d in self.dims:
            sizes += [d.size, d.before, d.after, d.offset, *(factor for _, factor in d.factors)]
        return frozenset().union(*(size.symbols() for size in sizes))

    def read(self, tensor: Tensor, bindings: Mapping[str, int]) -> Tensor:
        """Return the stream's tensor: reversed stream sizes, then reversed buffer sizes.

        Raises:
            OutOfReach: the layout does not fit these sizes.
        """
        import torch

        low = [d.before.bind(bindings) for d in self.dims]
        high = [d.after.bind(bindings) for d in self.dims]
        stuffed = [(size - 1) * d.step + 1 for size, d in zip(tensor.shape, self.dims, strict=True)]
        shape = [a + size + b for a, size, b in zip(low, stuffed, high, strict=True)]
        fill = _number(self.fill)
        padded = torch.full(shape, fill, dtype=tensor.dtype)
        inner = padded[tuple(slice(a, a + size) for a, size in zip(low, stuffed, strict=True))]
        if any(d.step > 1 for d in self.dims):
            inner.fill_(0)
        inner[tuple(slice(None, None, d.step) for d in self.dims)] = tensor
        sizes = [size.bind(bindings) for size in self.loops]
        strides = [0] * len(sizes)
        offset = 0
        for d, stride in zip(self.dims, padded.stride(), strict=True):
            offset += (d.offset + d.before).bind(bindings) * stride
            for loop, factor in d.factors:
                strides[loop] += factor.bind(bindings) * stride
        for number, d in enumerate(self.dims):
            self._check_reach(d, shape[number], sizes, bindings)
        # A view cannot go backwards: such loops start at their end and are turned around.
        backwards = [loop for loop, stride in enumerate(strides) if stride < 0]
        offset += sum(strides[loop] * (sizes[loop] - 1) for loop in backwards)
        found = padded.as_strided(sizes, [abs(stride) for stride in strides], offset)
        return found.flip(backwards) if backwards else found

    def _check_reach(self, dim: HostDim, size: int, loops: list[int], bindings: Mapping[str, int]) -> None:
        first = last = (dim.offset + dim.before).bind(bindings)
        for loop, factor in dim.factors:
            reach = factor.bind(bindings) * (loops[loop] - 1)
            first, last = first + min(reach, 0), last + max(reach, 0)
        if min(loops, default=1) < 1 or first < 0 or last >= size:
            text = ", ".join(f"{name}={value}" for name, value in bindings.items())
            raise OutOfReach(f"with {text} it reads places {first} to {last} of {size}")

    def text(self) -> str:
        """Return the layout for people and for the key ``layout`` of a task file."""
        sizes = ", ".join(str(d.size) for d in self.dims)
        head = self.source if self.kind == "input" else f"{self.kind}({sizes})"
        notes = []
        if any(d.step > 1 for d in self.dims):
            notes.append(f"stuff {[d.step for d in self.dims]}")
        if any(d.before != 0 or d.after != 0 for d in self.dims):
            pads = ", ".join(f"({d.before}, {d.after})" for d in self.dims)
            notes.append(f"pad [{pads}] with {self.fill}")
        names = [f"i{number}" for number in range(len(self.loops))]
        reads = ", ".join(_place(d, names) for d in self.dims)
        notes.append(f"read [{reads}]")
        return f"{head}: {'; '.join(notes)}"


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """How the host puts a result together from the tensor of its stream: permute, then merge neighbours.

    ``order`` is the permutation of the tensor's dimensions; ``groups`` says how many of them make up each dimension of
    the result; ``sizes`` are those of the result where the stream has more, which are zeros, else None.
    """

    stream: str
    order: tuple[int, ...]
    groups: tuple[int, ...]
    sizes: tuple[Dim, ...] | None = None

    @property
    def is_identity(self) -> bool:
        """Whether the stream's tensor is the result as it is."""
        plain = self.order == tuple(range(len(self.order))) and self.groups == (1,) * len(self.order)
        return plain and self.sizes is None

    def laid_out(self, result: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Return ``result`` as the tensor of the stream, whose sizes are ``sizes``: the way back."""
        from stepcore.sim.layout import taken_apart

        return taken_apart(result, self.order, self.groups, sizes, grows=self.sizes is not None)

    def text(self) -> str:
        """Return the layout for people and for the key ``layout`` of a task file, see :mod:`stepcore.graph.layouts`."""
        whole = f"permute {list(self.order)}; merge {list(self.groups)}"
        return whole if self.sizes is None else f"{whole}; take [{', '.join(map(str, self.sizes))}]"


def _place(dim: HostDim, names: list[str]) -> str:
    pieces = [names[loop] if factor == 1 else f"{factor}*{names[loop]}" for loop, factor in dim.factors]
    offset = dim.offset + dim.before
    if offset != 0 or not pieces:
        pieces.append(str(offset))
    return " + ".join(pieces)


def _number(text: str) -> float | bool:
    if text in ("True", "False"):
        return text == "True"
    return float(text.replace("torch.", ""))
