"""Streams as literal lists, element functions, and the way to and from dense tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from .elements import Element, components

Item = tuple[torch.Tensor, ...]


class OracleError(Exception):
    """A program, function or stream breaks a rule of the language."""


def require(condition: bool, message: str) -> None:
    """Raise `OracleError(message)` unless `condition` holds."""
    if not condition:
        raise OracleError(message)


# eq=False: two streams are the same stream only when they are the same object (affine use follows the value).
@dataclass(eq=False)
class Stream:
    """A finished stream.

    `sizes` are integers, innermost first.  `items` has one tuple of tensors (one per component of `element`) for
    each position, in stream order: the innermost index runs fastest.
    """

    sizes: tuple[int, ...]
    element: Element
    items: list[Item]

    def __post_init__(self) -> None:
        require(len(self.sizes) >= 1, "a stream has at least one dimension")
        count = math.prod(self.sizes)
        require(len(self.items) == count, f"{len(self.items)} items do not fill the sizes {self.sizes}")

    @property
    def rank(self) -> int:
        """The number of dimensions less one."""
        return len(self.sizes) - 1

    def chunks(self, inner: int) -> list[list[Item]]:
        """The items of the innermost `inner` dimensions, one list for each position of the outer ones."""
        length = math.prod(self.sizes[:inner])
        count = math.prod(self.sizes[inner:])
        return [self.items[k * length : (k + 1) * length] for k in range(count)]


def literal_stream(tensors: Sequence[torch.Tensor], sizes: Sequence[int], element: Element) -> Stream:
    """Cut dense tensors, one per component, into a stream.

    Each tensor has the shape (reversed `sizes`) + component shape; `OracleError` otherwise.
    """
    parts = components(element)
    require(len(tensors) == len(parts), f"{len(tensors)} tensors for {len(parts)} components")
    count = math.prod(sizes)
    columns: list[list[torch.Tensor]] = []
    for tensor, part in zip(tensors, parts, strict=True):
        wanted = tuple(reversed(sizes)) + part.shape
        require(tuple(tensor.shape) == wanted, f"a tensor of shape {tuple(tensor.shape)} where {wanted} is needed")
        columns.append(list(tensor.reshape(count, *part.shape).unbind(0)))
    return Stream(tuple(sizes), element, list(zip(*columns, strict=True)))


def dense(stream: Stream) -> list[torch.Tensor]:
    """One tensor per component, of shape (reversed sizes) + component shape."""
    result: list[torch.Tensor] = []
    for index, part in enumerate(components(stream.element)):
        wanted = stream.sizes[::-1] + part.shape
        column = [item[index] for item in stream.items]
        # A branch without elements leaves nothing to stack.
        result.append(torch.stack(column).reshape(wanted) if column else torch.zeros(wanted))
    return result


@dataclass(frozen=True)
class Fn:
    """A pure element function.

    `function(input)`, or `function(state, input)` when `init` is given, takes and returns lists of tensors, one
    per component.  `init` has one constant per output component.  Results that differ from `output` in number,
    shape or `dtype` raise `OracleError`.
    """

    input: Element
    output: Element
    function: Callable[..., list[torch.Tensor]]
    init: tuple[float, ...] | None = None
    dtype: torch.dtype = torch.float32

    def map(self, item: Item) -> Item:
        """The function's value for one element."""
        require(self.init is None, "an accumulating function stands where a plain one is needed")
        return self._checked(self.function(list(item)))

    def fold(self, state: Item, item: Item) -> Item:
        """The state after one more element."""
        return self._checked(self.function(list(state), list(item)))

    def start(self) -> Item:
        """The state before the first element."""
        parts = components(self.output)
        require(self.init is not None, "a function without init cannot accumulate")
        constants = self.init or ()
        require(len(constants) == len(parts), f"{len(constants)} init constants for {len(parts)} components")
        pairs = zip(constants, parts, strict=True)
        return tuple(torch.full(part.shape, constant, dtype=self.dtype) for constant, part in pairs)

    def zeros(self) -> Item:
        """What `Merge` emits where no branch is selected."""
        return tuple(torch.zeros(part.shape, dtype=self.dtype) for part in components(self.output))

    def _checked(self, values: Sequence[torch.Tensor]) -> Item:
        parts = components(self.output)
        require(len(values) == len(parts), f"a function returned {len(values)} tensors, not {len(parts)}")
        for value, part in zip(values, parts, strict=True):
            require(tuple(value.shape) == part.shape, f"a function returned {tuple(value.shape)}, not {part.shape}")
            require(value.dtype == self.dtype, f"a function returned {value.dtype}, not {self.dtype}")
        return tuple(values)
