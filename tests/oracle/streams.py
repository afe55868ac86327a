"""Streams as literal lists, element functions, and the way to and from dense tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from .elements import Element, Free, bound_to, components, dtype_of, matched
from .lists import Size, Sizes, items_of_chunks, measured, nested, positions

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

    `sizes` are innermost first: integers, or for a ragged dimension the length of each list.  `items` has one tuple
    of tensors (one per component of `element`) for each position, in stream order: the innermost index runs fastest.
    """

    sizes: Sizes
    element: Element
    items: list[Item]
    later: bool = False  # whether a type or an operator of generation 2 led to it
    growing: bool = False  # whether more of it may come back by a loop
    made_of: frozenset[int | str] = frozenset()  # the EagerMerges, by their numbers, and loops that led to it

    def __post_init__(self) -> None:
        require(len(self.sizes) >= 1, "a stream has at least one dimension")
        require(isinstance(self.sizes[-1], int), "the outermost dimension is one list")
        count = positions(self.sizes)
        require(len(self.items) == count, f"{len(self.items)} items do not fill the sizes {self.sizes}")

    @property
    def rank(self) -> int:
        """The number of dimensions less one."""
        return len(self.sizes) - 1

    def chunks(self, inner: int) -> list[list[Item]]:
        """The items of the innermost `inner` dimensions, one list for each position of the outer ones."""
        rest = iter(self.items)
        return [[next(rest) for _ in range(count)] for count in items_of_chunks(self.sizes, inner)]

    def size(self, index: int) -> int:
        """The size of a dimension, which has to be regular."""
        size = self.sizes[index]
        if not isinstance(size, int):
            raise OracleError(f"dimension {index} is ragged")
        return size

    def regular(self, count: int) -> tuple[int, ...]:
        """The innermost sizes, which have to be regular."""
        return tuple(self.size(index) for index in range(count))

    def lists(self) -> list[Any]:
        """The items in nested lists, as deep as there are dimensions."""
        return nested(self.items, self.sizes)

    @staticmethod
    def of(lists: list[Any], like: Sequence[Size | None], element: Element) -> Stream:
        """A stream of nested lists whose inner sizes are those of `like`; what is no integer there is measured."""
        try:
            sizes, items = measured(lists, like)
        except ValueError as error:
            raise OracleError(str(error)) from None
        return Stream(sizes, element, items)


def literal_stream(tensors: Sequence[torch.Tensor], sizes: Sequence[Size], element: Element) -> Stream:
    """Cut tensors, one per component, into a stream.

    Each tensor has the shape (reversed `sizes`) + component shape; where sizes are ragged all lists of the innermost
    ragged dimension stand behind each other along its first axis. `OracleError` otherwise.
    """
    parts = components(element)
    require(len(tensors) == len(parts), f"{len(tensors)} tensors for {len(parts)} components")
    count = positions(sizes)
    columns: list[list[torch.Tensor]] = []
    for tensor, part in zip(tensors, parts, strict=True):
        wanted = packed_shape(sizes) + part.shape
        require(tuple(tensor.shape) == wanted, f"a tensor of shape {tuple(tensor.shape)} where {wanted} is needed")
        columns.append(list(tensor.reshape(count, *part.shape).unbind(0)))
    return Stream(tuple(sizes), element, list(zip(*columns, strict=True)))


def packed_shape(sizes: Sequence[Size]) -> tuple[int, ...]:
    """The axes of a stream's positions: its sizes, outermost first; from the innermost ragged one on one axis."""
    regular: list[int] = []
    for size in sizes:
        if not isinstance(size, int):
            return (sum(size), *reversed(regular))
        regular.append(size)
    return tuple(reversed(regular))


def dense(stream: Stream) -> list[torch.Tensor]:
    """One tensor per component, of the shape that `literal_stream` takes."""
    result: list[torch.Tensor] = []
    for index, part in enumerate(components(stream.element)):
        wanted = packed_shape(stream.sizes) + part.shape
        column = [item[index] for item in stream.items]
        if part.shape[:1] == (-1,):  # buffers that differ in their outermost size: all of them behind each other
            result.append(torch.cat(column) if column else torch.zeros((0, *part.shape[1:])))
            continue
        # A branch without elements leaves nothing to stack.
        result.append(torch.stack(column).reshape(wanted) if column else torch.zeros(wanted))
    return result


def nested_tensors(stream: Stream) -> list[Any]:
    """What references get and give: a tensor, or lists of tensors down to the innermost ragged dimension, which is the
    first axis of these. One for each component.
    """
    ragged = [index for index, size in enumerate(stream.sizes) if not isinstance(size, int)]
    if not ragged:
        return list(dense(stream))
    inner = stream.regular(ragged[0])
    found: list[Any] = []
    for index, part in enumerate(components(stream.element)):
        lists = []
        for chunk in stream.chunks(ragged[0] + 1):
            column = [item[index] for item in chunk]
            shape = (-1 if column else 0, *reversed(inner), *part.shape)
            lists.append(torch.stack(column).reshape(shape) if column else torch.zeros(shape))
        found.append(nested(lists, stream.sizes[ragged[0] + 1 :]))
    return found


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

    def of(self, element: Element) -> Fn:
        """The function for this use: any sizes in its types are those of `element`, which it has to take."""
        sizes: dict[Free, int] = {}
        require(matched(self.input, element, sizes), f"the function takes {self.input}, the stream carries {element}")
        return replace(self, input=element, output=bound_to(self.output, sizes))

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
        return tuple(torch.full(part.shape, constant, dtype=dtype_of(part, self.dtype)) for constant, part in pairs)

    def zeros(self) -> Item:
        """What `Merge` emits where no branch is selected."""
        return tuple(torch.zeros(part.shape, dtype=dtype_of(part, self.dtype)) for part in components(self.output))

    def _checked(self, values: Sequence[torch.Tensor]) -> Item:
        parts = components(self.output)
        require(len(values) == len(parts), f"a function returned {len(values)} tensors, not {len(parts)}")
        for value, part in zip(values, parts, strict=True):
            require(tuple(value.shape) == part.shape, f"a function returned {tuple(value.shape)}, not {part.shape}")
            wanted = dtype_of(part, self.dtype)
            require(value.dtype == wanted, f"a function returned {value.dtype}, not {wanted}")
        return tuple(values)
