"""What shape inference knows of a value. ``None`` stands for "nothing", everywhere, and spreads silently."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from stepcore.fn.members import no_tensor
from stepcore.sizes.dim import Dim, DimError, product
from stepcore.text.wording import counted

Size: TypeAlias = "Dim | None"
Sizes: TypeAlias = "tuple[Dim | None, ...]"


@dataclass(frozen=True, slots=True)
class AbstractTensor:
    """A tensor: its sizes, outermost first (None: rank unknown), and its dtype where that is certain."""

    shape: Sizes | None
    dtype: str | None = None
    weight: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number that is no known integer; one of kind ``any`` may be a tensor, too, by what the data are."""

    kind: str = "float"


@dataclass(frozen=True, slots=True)
class NumberLimits:
    """What ``torch.finfo`` or ``torch.iinfo`` gives; its attributes are numbers of ``kind``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Callee:
    """A function of the allow-list, or a method with the tensor it belongs to.

    ``space`` is a key of ``torch_signatures.SIGNATURES``, empty where what is called is not named as torch names it.
    """

    name: str
    receiver: Any = None
    bound: bool = False
    space: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """What ``topk`` and its kin return."""

    values: AbstractTensor
    indices: AbstractTensor


@dataclass(frozen=True, slots=True)
class LikeItems:
    """A list of like values, ``count`` of them: the rows of a tensor, or what a comprehension makes."""

    item: Any
    count: Size


@dataclass(frozen=True, slots=True)
class GlobalFunction:
    """A function that a ``global`` block defines."""

    node: ast.FunctionDef | ast.Lambda
    name: str


@dataclass(frozen=True, slots=True)
class TorchModule:
    """A module of ``torch.nn``: what it computes, and what its constructor was given."""

    name: str
    forward: ast.Lambda
    names: Mapping[str, Any]


class Components(list[AbstractTensor]):
    """An argument of a function: the list of the components of an element, by the argument's name."""

    __slots__ = ("name",)

    def __init__(self, name: str, items: Sequence[AbstractTensor]) -> None:
        super().__init__(items)
        self.name = name


class ShapeList(list["Dim | None"]):
    """The shape of a tensor, as a list that nobody changes."""

    __slots__ = ()


class ShapeMismatch(Exception):
    """Operands that certainly do not fit together."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotOfTensors(ShapeMismatch):
    """A function of Python that no tensor goes through."""


class ListForTensor(ShapeMismatch):
    """An argument stands where a tensor is needed."""

    def __init__(self, found: Components) -> None:
        super().__init__(no_tensor(found.name, len(found)))
        self.name = found.name


class Comparer:
    """Compares sizes under the default bindings: a difference is certain only when the bound values differ."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self.bindings = bindings

    def bound(self, size: Dim) -> int | None:
        """Return the value of ``size``, None while a symbol has none."""
        constant = size.constant
        if constant is not None:
            return constant
        try:
            return size.bind(self.bindings)
        except DimError:
            return None

    def differ(self, left: Size, right: Size) -> bool:
        """Return whether two sizes are certainly different."""
        if left is None or right is None or left == right:
            return False
        a, b = self.bound(left), self.bound(right)
        return a is not None and b is not None and a != b

    def is_one(self, size: Size) -> bool | None:
        """Return whether a size is 1; None where a run could bind it to 1."""
        if size is None:
            return None
        if size.constant is not None:
            return size.constant == 1
        return None if self.bound(size) in (1, None) else False

    def is_empty(self, shape: Sizes) -> bool:
        """Return whether a size is certainly 0."""
        return any(size is not None and self.bound(size) == 0 for size in shape)

    def broadcast(self, shapes: Sequence[Sizes | None], what: str = "") -> Sizes | None:
        """Return the shape that tensors broadcast to.

        Raises:
            ShapeMismatch: they certainly do not broadcast.
        """
        if any(shape is None for shape in shapes):
            return None
        known = [shape for shape in shapes if shape is not None]
        rank = max((len(shape) for shape in known), default=0)
        result: list[Size] = []
        for position in range(-rank, 0):
            sizes = [shape[position] for shape in known if len(shape) >= -position]
            result.append(self._merge(sizes, known, what))
        return tuple(result)

    def _merge(self, sizes: Sequence[Size], shapes: Sequence[Sizes], what: str) -> Size:
        current: Size = Dim.of(1)
        for size in sizes:
            if self.is_one(current) is True:
                current = size
            elif self.is_one(size) is True or current == size:
                continue
            elif self.differ(current, size) and False in (self.is_one(current), self.is_one(size)):
                if self.is_one(current) is False and self.is_one(size) is False:
                    text = " and ".join(shape_text(shape) for shape in shapes)
                    raise ShapeMismatch(f"the shapes {text} do not broadcast{what}")
                current = None
            elif self.is_one(current) is None or self.is_one(size) is None:
                current = None
        return current


def shape_text(shape: Sizes) -> str:
    """Return ``(M, D)`` as torch would write it."""
    cells = ["?" if size is None else str(size) for size in shape]
    return f"({cells[0]},)" if len(cells) == 1 else f"({', '.join(cells)})"


def row_of(value: Any) -> Any:
    """Return what a loop over a value takes from it each time, None where nothing is known."""
    if isinstance(value, AbstractTensor):
        return AbstractTensor(value.shape[1:] if value.shape else None, value.dtype)
    if isinstance(value, LikeItems):
        return value.item
    if isinstance(value, list | tuple) and value and all(each == value[0] for each in value[1:]):
        return value[0]
    return None


def length_of(value: Any) -> Size:
    """Return how often a loop over a value goes round, None where that is not known: a list may have grown."""
    if isinstance(value, AbstractTensor):
        return value.shape[0] if value.shape else None
    return value.count if isinstance(value, LikeItems) else None


def numel(shape: Sizes | None) -> Size:
    """Return the number of values of a shape, None where a size is unknown."""
    if shape is None:
        return None
    sizes = [size for size in shape if size is not None]
    return product(sizes) if len(sizes) == len(shape) else None


def tensor_of(value: Any) -> AbstractTensor | None:
    """Return a tensor as it is; numbers become tensors of rank 0; None for anything else."""
    if isinstance(value, AbstractTensor):
        return value
    if isinstance(value, Number):
        return AbstractTensor((), None)
    return AbstractTensor((), None) if isinstance(value, Dim) else None


def integer(value: Any) -> int | None:
    """Return a known integer, None for anything else."""
    return value.constant if isinstance(value, Dim) else None


def place_of(dim: int, rank: int) -> int:
    """Return a dimension counted from the front.

    Raises:
        ShapeMismatch: there is none.
    """
    place = dim + rank if dim < 0 else dim
    if not 0 <= place < rank:
        if rank == 0 and dim in (0, -1):
            return 0
        raise ShapeMismatch(f"there is no dimension {dim} in a tensor with {counted(rank, 'dimension')}")
    return place
