"""How the host lays PyTorch tensors out for streams: the key ``layout`` of inputs and outputs.

An input's layout names a tensor with its sizes (outermost first) and says which of its elements the stream holds::

    x[m, k]: read [i1, i0]
    image[c, h, w]: stuff [1, 2, 2]; pad [(0, 0), (1, 1), (1, 1)] with 0; read [i0, i1 + i3, i2 + i4]

``i0, i1, ...`` count along the dimensions of the stream's tensor, outermost first (stream sizes, then those of the
buffer). ``stuff`` puts zeros between neighbours (2: one), ``pad`` adds elements before and after; every place that is
read is an affine expression. Without ``read`` the stream is the tensor. Streams that name the same tensor read the same
data; ``arange`` and ``ones`` name tensors that nobody has to provide, and so does a clause ``values [1, 0, ...]``.

An output's layout says how the host puts the result together: ``permute [1, 0]; merge [1, 1]`` permutes the dimensions
of the stream's tensor and then merges neighbours, so many for each dimension of the result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from stepcore.dim import Dim, DimError
from stepcore.sim.errors import SimError

_HEAD: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\]]*)\]\s*(?::(.*))?", re.DOTALL)
_CLAUSE: Final = re.compile(r"\s*(values|stuff|pad|read|permute|merge)\s*(\[.*?\])\s*(?:with\s+(\S+)\s*)?", re.DOTALL)
_COUNTER: Final = re.compile(r"i(\d+)")
_GENERATED: Final = ("arange", "ones")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one dimension of the tensor is read: ``offset`` plus counters times factors."""

    offset: Dim
    factors: tuple[tuple[int, Dim], ...]


@dataclass(frozen=True, slots=True)
class InputLayout:
    """A stream as an affine read of the tensor ``source``; ``places`` is None where the stream is the tensor itself."""

    source: str
    sizes: tuple[Dim, ...]
    steps: tuple[int, ...]
    padding: tuple[tuple[Dim, Dim], ...]
    fill: float
    places: tuple[Place, ...] | None
    values: tuple[float, ...] | None = None

    @property
    def is_generated(self) -> bool:
        """True for a tensor that nobody has to provide."""
        return self.source in _GENERATED or self.values is not None

    def generated(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Return the tensor that the layout itself describes."""
        if self.values is not None:
            return torch.tensor(self.values, dtype=torch.float64).reshape(tuple(shape)).to(dtype)
        return torch.arange(shape[0]).to(dtype) if self.source == "arange" else torch.ones(tuple(shape), dtype=dtype)

    def read(self, tensor: Tensor, shape: Sequence[int], bindings: Mapping[str, int]) -> Tensor:
        """Return the tensor of the stream, of ``shape``.

        Raises:
            SimError: STEP907 where a place lies outside of the padded tensor.
        """
        if self.places is None:
            return tensor.reshape(tuple(shape))
        padded = self._padded(tensor, bindings)
        places = torch.zeros(tuple(shape), dtype=torch.int64)
        for axis, (place, stride) in enumerate(zip(self.places, padded.stride(), strict=True)):
            index = torch.full((1,) * len(shape), place.offset.bind(bindings))
            for counter, factor in place.factors:
                counts = torch.arange(shape[counter]) * factor.bind(bindings)
                index = index + counts.reshape([-1 if loop == counter else 1 for loop in range(len(shape))])
            if int(index.min()) < 0 or int(index.max()) >= padded.shape[axis]:
                text = (
                    f"the layout of {self.source} reads dimension {axis} from {int(index.min())} to {int(index.max())}"
                )
                raise SimError("STEP907", f"{text}; it has {padded.shape[axis]} elements with its padding")
            places = places + index * stride
        return padded.reshape(-1)[places]

    def _padded(self, tensor: Tensor, bindings: Mapping[str, int]) -> Tensor:
        ends = [(low.bind(bindings), high.bind(bindings)) for low, high in self.padding]
        stuffed = [(size - 1) * step + 1 for size, step in zip(tensor.shape, self.steps, strict=True)]
        padded = torch.full([low + size + high for size, (low, high) in zip(stuffed, ends, strict=True)], self.fill).to(
            tensor.dtype
        )
        inner = padded[tuple(slice(low, low + size) for size, (low, _) in zip(stuffed, ends, strict=True))]
        inner.zero_()
        inner[tuple(slice(None, None, step) for step in self.steps)] = tensor
        return padded


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """How a result comes from the tensor of its stream: a permutation, then neighbours merged."""

    order: tuple[int, ...]
    groups: tuple[int, ...]

    def laid_out(self, result: Tensor, shape: Sequence[int]) -> Tensor:
        """Return ``result`` as the tensor of the stream, which has ``shape``: the way back."""
        split = [shape[place] for place in self.order]
        return result.reshape(split).permute([self.order.index(place) for place in range(len(self.order))])


def input_layout(text: str) -> InputLayout:
    """Read the layout of an input.

    Raises:
        SimError: STEP907, with what cannot be read.
    """
    head = _HEAD.fullmatch(text)
    if head is None:
        raise _unreadable(text, "write NAME[sizes]: read [i0, i1]")
    sizes = tuple(_affine(item, text)[0] for item in _items(head[2]))
    clauses = _clauses(head[3] or "", text)
    rank = len(sizes)
    steps = tuple(int(item) for item in _items(clauses["stuff"][0])) if "stuff" in clauses else (1,) * rank
    zero = Dim.of(0)
    padding: tuple[tuple[Dim, Dim], ...] = ((zero, zero),) * rank
    fill = 0.0
    if "pad" in clauses:
        ends = [_affine(item.strip("() "), text)[0] for item in _items(clauses["pad"][0])]
        padding = tuple(zip(ends[::2], ends[1::2], strict=False))
        fill = _number(clauses["pad"][1] or "0", text)
    places = None
    if "read" in clauses:
        places = tuple(Place(*_affine(item, text)) for item in _items(clauses["read"][0]))
    if any(len(found) != rank for found in (steps, padding, places or sizes)):
        raise _unreadable(text, f"{head[1]} has {rank} dimensions, and every clause needs as many items")
    values = tuple(_number(item, text) for item in _items(clauses["values"][0])) if "values" in clauses else None
    return InputLayout(head[1], sizes, steps, padding, fill, places, values)


def output_layout(text: str) -> OutputLayout:
    """Read the layout of an output.

    Raises:
        SimError: STEP907, with what cannot be read.
    """
    clauses = _clauses(text, text)
    try:
        order = tuple(int(item) for item in _items(clauses["permute"][0]))
        groups = tuple(int(item) for item in _items(clauses["merge"][0]))
    except (KeyError, ValueError):
        raise _unreadable(text, "write permute [1, 0]; merge [1, 1]") from None
    if sorted(order) != list(range(len(order))) or sum(groups) > len(order):
        raise _unreadable(text, "permute names each dimension once, and merge counts them")
    return OutputLayout(order, groups)


def _clauses(body: str, text: str) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {}
    for part in filter(str.strip, body.split(";")):
        clause = _CLAUSE.fullmatch(part)
        if clause is None:
            raise _unreadable(text, f"{part.strip()!r} is no clause")
        found[clause[1]] = (clause[2][1:-1], clause[3])
    return found


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _affine(item: str, text: str) -> tuple[Dim, tuple[tuple[int, Dim], ...]]:
    """Return the constant part of an expression and the factors of its counters."""
    try:
        whole = _value(ast.parse(item, mode="eval").body)
        counters = sorted({int(match[1]) for name in whole.symbols() if (match := _COUNTER.fullmatch(name))})
        offset = _at(whole, None)
        return offset, tuple((counter, _at(whole, counter) - offset) for counter in counters)
    except (SyntaxError, ValueError, DimError):
        raise _unreadable(text, f"{item!r} is no affine expression") from None


def _at(whole: Dim, one: int | None) -> Dim:
    """Return the value where the counter ``one`` is 1 and all others are 0."""

    def value(name: str) -> Dim | None:
        counter = _COUNTER.fullmatch(name)
        return None if counter is None else Dim.of(1 if int(counter[1]) == one else 0)

    return whole.substitute(value)


def _value(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int() as value):
            return Dim.of(value)
        case ast.Name(id=name):
            return Dim.symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _value(left) // _value(right)
    raise ValueError("no size")


def _number(text: str, whole: str) -> float:
    try:
        return float({"True": "1", "False": "0"}.get(text, text))
    except ValueError:
        raise _unreadable(whole, f"{text!r} is no number") from None


def _unreadable(text: str, why: str) -> SimError:
    return SimError("STEP907", f"the layout {text.strip()!r} cannot be read: {why}")
