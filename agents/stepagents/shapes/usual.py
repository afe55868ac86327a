"""What operations are mostly given: the rest is refused, so that the search for sizes tries what is usual first.

An argument that turned out to be unusual is *tolerant* in later states, and no longer refused. Loads torch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final, NoReturn

from torch import Tensor

from stepagents.shapes.keeping import Keeping
from stepagents.shapes.natural import (
    EXPANDING,
    GATHERED,
    INTERCEPT,
    RANKS,
    RESHAPES,
    TERMS,
    pairs,
)
from stepagents.shapes.outcome import RunFailure, TensorOperand, Unusual
from stepagents.shapes.state import State
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.usage import BETWEEN, CONVOLUTIONS

# Operations whose tensors mostly have as many dimensions as each other.
BROADCASTING: Final = frozenset(
    {f"__{side}{name}__" for side in ("", "r") for name in ("add", "sub", "mul", "truediv")}
    | {"add", "sub", "mul", "div", "matmul", "__matmul__", "maximum", "minimum", "where", "eq", "lt", "gt", "le", "ge"}
)
_MATRIX_PRODUCTS: Final = frozenset({"matmul", "__matmul__"})
_PRODUCTS: Final = frozenset({"matmul", "__matmul__", "where"})
_SAME_KIND: Final = frozenset({"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "linear", "addmm", "dot"})
_CHUNKS: Final = frozenset({"chunk", "tensor_split"})


class Usual:
    """The habits of one state; ``natural`` are arguments that an operation took in its usual number of dimensions."""

    def __init__(
        self, guard: Guard, state: State, peers: frozenset[str], parameters: frozenset[str], keeping: Keeping
    ) -> None:
        self._guard = guard
        self._state = state
        self._shapes = state.bound()
        self._peers = peers
        self._parameters = parameters
        self._keeping = keeping
        self.natural: dict[str, tuple[str, int]] = {}

    def check(
        self,
        name: str,
        tensors: Sequence[Tensor],
        operands: Sequence[TensorOperand],
        args: Any,
        options: Mapping[str, Any],
    ) -> None:
        """Look at one operation before it runs.

        Raises:
            Unusual: it is mostly given something else.
        """
        self._check_ranks(name, operands)
        self._check_others(name, operands, args, options)
        self._check_kinds(name, tensors, operands)
        if name in GATHERED and len(operands) == 2 and operands[0].origins - self._state.tolerant:
            numbers = [item for item in [*args[1:], *options.values()] if type(item) is int]
            shapes = [item.shape for item in operands]
            if any(True for _ in pairs(name, shapes, numbers, {}, "")):
                self._refuse(name, operands, "sizes of the index differ", numbers)

    def _check_ranks(self, name: str, operands: Sequence[TensorOperand]) -> None:
        ranks = RANKS.get(name)
        if ranks is None and name in {"matmul", "__matmul__", "__rmatmul__"}:
            self._note(name, [item for item in operands if item.is_argument and len(item.shape) >= 2])
        if name in BETWEEN and len({len(item.shape) for item in operands}) == 1 and len(operands[0].shape) > 1:
            self._note(name, [item for item in operands if item.is_argument])
            return
        for index, (rank, operand) in enumerate(zip(ranks or (), operands, strict=False)):
            is_slid = name in CONVOLUTIONS and index == 0 and len(operand.origins) == 1 and self._is_whole(operand)
            if not (operand.is_argument or is_slid) or rank is None:
                continue
            (origin,) = operand.origins
            if len(operand.shape) == rank:
                self._note(name, [operand])
            elif origin not in self._state.tolerant:
                self._refuse(name, operands, f"expected {rank}D", [rank])

    def _check_others(
        self, name: str, operands: Sequence[TensorOperand], args: Any, options: Mapping[str, Any]
    ) -> None:
        is_said = self._keeping.speaks and name in _SAME_KIND  # what a comment tells of a product is stronger
        if name in BROADCASTING and len(operands) > 1 and not is_said:
            rank = max(len(item.shape) for item in operands)
            for item in operands:
                small = 0 < len(item.shape) < rank and len(item.origins) == 1
                tolerant = item.origins <= self._state.tolerant or self._is_outer(operands)
                tolerant |= name in _MATRIX_PRODUCTS and item is operands[-1] and len(item.shape) == 1  # a vector
                if not small or tolerant or not (item.origins <= self._peers or item.is_placed):
                    continue
                if item.is_placed or self._is_whole(item):
                    self._refuse(name, [item], f"expected {rank}D", [rank])
                large = next(each for each in operands if len(each.shape) == rank)
                if (
                    len(large.origins) == 1
                    and large.origins != item.origins  # x - x.mean(0)
                    and large.origins <= self._peers - self._state.tolerant
                    and self._is_whole(large)
                ):
                    self._refuse(
                        name, [large], f"expected {len(item.shape)}D", [len(item.shape)]
                    )  # a step of x, a state
            self._check_parameters(name, operands)
            if name not in _PRODUCTS:
                self._check_samples(name, operands)
        if name == "__getitem__" and len(operands) > 2:
            self._check_indices(operands[1:])
        numbers = integers([args[1:], *options.values()])
        if operands and operands[0].origins - self._state.tolerant:
            self._check_reshaped(name, operands, numbers)
            self._check_chunks(name, operands[0], args, options)

    def _check_indices(self, indices: Sequence[TensorOperand]) -> None:
        """Refuse an index of fewer dimensions than another that was placed for it: ``x[rows[:, None], found]``."""
        rank = max(len(item.shape) for item in indices)
        is_placed = any(item.is_placed and len(item.shape) == rank for item in indices)
        for item in indices if is_placed else ():
            if len(item.shape) < rank and item.origins - self._state.tolerant:
                self._refuse("__getitem__", [item], f"expected {rank}D", [rank])

    def _check_reshaped(self, name: str, operands: Sequence[TensorOperand], numbers: Sequence[int]) -> None:
        first, shape = operands[0], operands[0].shape
        if name in RESHAPES:
            is_long = len(numbers) > 1 and numbers.count(1) == len(numbers) - 1 and len(shape) > 1
            if is_long and max(shape) > 1:
                self._refuse(name, [first], "expected 1D", [1])
            fills = -1 in numbers and prod(shape) == -prod(numbers) > 1 and 1 not in shape
            if (
                fills and len(numbers) > 2 and numbers[0] == shape[0] and first.origins - self._parameters
            ):  # -1 is a dimension
                self._refuse(name, [first], f"expected {len(shape) + 1}D", [len(shape) + 1], place=1)
        if name in EXPANDING and first.is_placed:
            wanted = len(operands[1].shape) if len(operands) > 1 else len(numbers)
            if len(shape) < wanted:  # a dimension was put in for each one that is expanded
                self._refuse(name, [first], f"expected {wanted}D", [wanted])

    def _check_chunks(self, name: str, first: TensorOperand, args: Any, options: Mapping[str, Any]) -> None:
        if name in _CHUNKS:
            numbers = [item for item in [*args[1:], *options.values()] if type(item) is int]
            count = options.get("chunks", numbers[0] if numbers else 1)
            axis = options.get("dim", numbers[1] if len(numbers) > 1 else 0)
            shape = first.shape
            if type(count) is int and count > 1 and -len(shape) <= axis < len(shape) and shape[axis] % count:
                only = TensorOperand((shape[axis],), first.origins, False)
                self._refuse(name, [only], f"{shape[axis]} is not divisible by {count}", [count])

    def _is_outer(self, operands: Sequence[TensorOperand]) -> bool:
        """Whether what an operand meets has more dimensions than all data that it was made of: ``x[:, None] - y``."""
        large = max(operands, key=lambda item: len(item.shape))
        ranks = [len(self._shapes[name]) for name in large.origins if name in self._shapes]
        return large.is_spread and not large.is_placed and max(ranks, default=0) < len(large.shape)

    def _check_samples(self, name: str, operands: Sequence[TensorOperand]) -> None:
        """Refuse data of more dimensions than the numbers per sample that they meet; parts of data that lack some."""
        free = self._peers - self._state.tolerant
        for small, large in ((small, large) for small in operands for large in operands):
            ranks = len(small.shape), len(large.shape)
            if small.is_argument or small.is_placed or not 0 < ranks[0] < ranks[1]:
                continue
            if large.is_argument and large.origins <= free - small.origins and self._is_per_sample(small):
                self._refuse(name, [large], f"expected {ranks[0]}D", [ranks[0]])
            is_part = small.origins <= free - large.origins and len(small.origins) == 1 and not self._is_whole(small)
            if is_part and large.is_placed and large.shape[-1] == 1 and ranks[1] == ranks[0] + 1:  # t[:, None]
                self._refuse(name, [small], f"expected {ranks[1]}D", [ranks[1]], place=ranks[0])

    def _is_per_sample(self, item: TensorOperand) -> bool:
        """Whether a computed tensor has the first sizes of the data it comes from, but not the last."""
        shapes = [self._shapes[name] for name in item.origins if name in self._shapes]
        data = [shape for shape in shapes if len(shape) > len(item.shape)]
        return bool(data) and all(
            shape[: len(item.shape)] == item.shape and shape[-1] != item.shape[-1] for shape in data
        )

    def _is_whole(self, item: TensorOperand) -> bool:
        """Whether a tensor has all dimensions of the argument that it comes from."""
        return len(item.shape) == sum(len(self._state.dims.get(name, ())) for name in item.origins)

    def _check_parameters(self, name: str, operands: Sequence[TensorOperand]) -> None:
        """Refuse a weight of more dimensions than the data that it is added to or multiplied with."""
        if name in _PRODUCTS:
            return
        data = [len(item.shape) for item in operands if item.origins - self._parameters]
        if name in TERMS and any(
            item.shape[-1:] == (1,) and not item.is_placed and len(item.shape) > 1 for item in operands
        ):
            for item in operands:  # (n, 1) + bias
                intercept = item.is_argument and len(item.shape) == 1 and INTERCEPT.match(next(iter(item.origins)))
                if intercept and item.shape != (1,) and not item.origins <= self._state.tolerant:
                    self._refuse(name, [item], "expected 0D", [0])
        for item in operands:
            own = item.is_argument and item.origins <= self._parameters - self._state.tolerant
            if own and data and 0 < max(data) < len(item.shape):
                self._refuse(name, [item], f"expected {max(data)}D", [max(data)])

    def _check_kinds(self, name: str, tensors: Sequence[Tensor], operands: Sequence[TensorOperand]) -> None:
        """Refuse a product of whole and other numbers, which shapes alone do not show."""
        kinds = {tensor.is_floating_point() for tensor in tensors}
        if name in _SAME_KIND and len(kinds) > 1:
            whole = [item for item, tensor in zip(operands, tensors, strict=True) if not tensor.is_floating_point()]
            raise Unusual(RunFailure(name, "expected the same dtype", "RuntimeError", operands=whole))

    def _refuse(
        self, name: str, operands: Sequence[TensorOperand], message: str, numbers: Sequence[int], *, place: int = 0
    ) -> NoReturn:
        raise Unusual(
            RunFailure(name, message, "Unusual", operands=operands, numbers=numbers, is_unusual=True, place=place)
        )

    def _note(self, name: str, operands: Sequence[TensorOperand]) -> None:
        line = self._guard.user_line(sys._getframe(2)) or 0
        for operand in operands:
            for origin in operand.origins:
                self.natural.setdefault(origin, (name.strip("_"), line))


def integers(value: Any) -> list[int]:
    """Return the whole numbers that lists, tuples and dictionaries hold, however deep."""
    return [item for item in leaves(value) if type(item) is int]


def leaves(value: Any) -> Iterator[Any]:
    """Yield what lists, tuples and dictionaries hold, however deep."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value
