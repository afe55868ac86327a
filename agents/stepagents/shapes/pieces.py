"""Which parts of its tensors a function takes: a matrix read as ``K[0, 0]`` to ``K[1, 2]``, steps of a sequence.

A tensor of which nothing but parts is used mostly has no others: what the parts cover is its size. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from stepagents.shapes.natural import GATHERED
from stepcore.records import Record

_SELECTING: Final = frozenset({"argmax", "argmin", "argsort", "sort", "topk", "max", "min", "multinomial"})
_KEEPING: Final = frozenset(
    {"unsqueeze", "squeeze", "view", "reshape", "expand", "clone", "detach", "long", "to", "contiguous", "flatten"}
    | {"transpose", "t", "int", "__getitem__"}
)
_READING: Final = GATHERED | {"index_select"}
_INDICES: Final = frozenset({torch.int64, torch.int32})
_ALL: Final = -1  # columns
_MOST_COLUMNS: Final = 4  # of a table; more are steps of a sequence
_MOST: Final = 4096  # parts of one dimension that are noted


@dataclass(slots=True)
class _Parts:
    """The parts of one dimension; ``is_open`` if one goes to its end, and so covers what nobody counts."""

    spans: set[tuple[int, int]] = field(default_factory=set)
    is_open: bool = False

    @property
    def covered(self) -> int:
        """How much of the dimension two or more parts cover without a gap, 0 where they do not."""
        if self.is_open or len(self.spans) < 2:
            return 0
        end = 0
        for start, stop in sorted(self.spans):
            if start > end:
                return 0
            end = max(end, stop)
        return end

    @property
    def head(self) -> int:
        """The length of the only part where it is the first one: ``T[:3]``."""
        first = next(iter(self.spans)) if len(self.spans) == 1 and not self.is_open else (0, 0)
        return first[1] if first[0] == 0 else 0


class Piecemeal(Record):
    """A tensor that is only used in parts: what these cover of each dimension, and the heads that are cut off."""

    tensor: Tensor
    covered: tuple[int, ...]
    heads: tuple[int, ...]


class Pieces:
    """Notes the parts that a run takes of its tensors, and what an index was counted over."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[Tensor, list[_Parts]]] = {}
        self._whole: dict[int, Tensor] = {}
        self._counted: dict[int, tuple[Tensor, Tensor, int]] = {}  # index -> what it was found in, and the size
        self._indices: dict[int, tuple[Tensor, int, int]] = {}  # part of an argument -> that argument's id, its column
        self._reads: dict[tuple[int, int], list[tuple[Tensor, int]]] = {}  # by index: what it reads, and that size
        self.selected: list[tuple[Tensor, int, Tensor, int]] = []  # (counted tensor, its size, read tensor, its size)

    def note(self, name: str, tensors: Sequence[Tensor], args: Any, options: Any, result: Any) -> None:
        """Note one operation, looks at a shape left out."""
        if name == "__getitem__" and len(args) == 2 and isinstance(args[0], Tensor):
            self._note_parts(args[0], args[1])
        for tensor in tensors[name == "__getitem__" :]:
            self._whole[id(tensor)] = tensor
        self._note_counted(name, tensors, args, options, result)
        self._note_index(name, tensors, args, options, result)

    def give(self, tensor: Tensor) -> None:
        """Note an argument, which may be an index."""
        if tensor.dtype in _INDICES:
            self._indices[id(tensor)] = (tensor, id(tensor), _ALL)

    def read(self) -> Iterator[tuple[tuple[Tensor, int], tuple[Tensor, int]]]:
        """Yield pairs of tensors and sizes that are read by one index, and differ.

        Columns of a table are indices of their own (``pairs[:, 0]`` and ``pairs[:, 1]``), steps of a sequence are not.
        """
        tables: dict[int, set[int]] = {}
        for argument, column in self._reads:
            tables.setdefault(argument, set()).add(column)
        for argument, columns in tables.items():
            is_table = _ALL not in columns and len(columns) <= _MOST_COLUMNS
            groups = [[column] for column in columns] if is_table else [list(columns)]
            for group in groups:
                first, *others = [item for column in group for item in self._reads[argument, column]]
                yield from ((first, other) for other in others if other[1] != first[1])

    def piecemeal(self) -> Iterator[Piecemeal]:
        """Yield the tensors of which only parts were used."""
        for key, (tensor, axes) in self._parts.items():
            if key not in self._whole:
                covered, heads = tuple(axis.covered for axis in axes), tuple(axis.head for axis in axes)
                if any(covered) or any(heads):
                    yield Piecemeal(tensor, covered, heads)

    def _note_parts(self, tensor: Tensor, index: Any) -> None:
        items = list(index) if isinstance(index, tuple) else [index]
        if any(isinstance(item, (Tensor, list, bool)) for item in items):
            self._whole[id(tensor)] = tensor
            return
        items = [item for item in items if item is not None]
        if Ellipsis in items:
            place = items.index(Ellipsis)
            items[place : place + 1] = [slice(None)] * (tensor.dim() - len(items) + 1)
        items += [slice(None)] * (tensor.dim() - len(items))
        if all(item == slice(None) for item in items):
            self._whole[id(tensor)] = tensor
            return
        _, axes = self._parts.setdefault(id(tensor), (tensor, [_Parts() for _ in range(tensor.dim())]))
        for axis, item in zip(axes, items, strict=False):
            self._note_part(axis, item)

    def _note_part(self, axis: _Parts, item: Any) -> None:
        if len(axis.spans) >= _MOST:
            axis.is_open = True
        elif type(item) is int and item >= 0:
            axis.spans.add((item, item + 1))
        elif isinstance(item, slice) and item.step in {None, 1}:
            start, stop = item.start or 0, item.stop
            if type(start) is not int or start < 0:
                axis.is_open = True
            elif type(stop) is int and stop > start:
                axis.spans.add((start, stop))
            elif stop is None and start > 0:
                axis.is_open = True
        else:
            axis.is_open = True

    def _note_counted(self, name: str, tensors: Sequence[Tensor], args: Any, options: Any, result: Any) -> None:
        if name in _SELECTING and tensors:
            axis = options.get("dim", args[1] if name not in {"topk", "multinomial"} and len(args) > 1 else -1)
            whole = name in {"argmax", "argmin", "max", "min"} and "dim" not in options and len(args) < 2
            index = result if isinstance(result, Tensor) else result[1] if isinstance(result, tuple) else None
            rank = tensors[0].dim()
            is_counted = name not in {"max", "min"} or not isinstance(result, Tensor)
            if is_counted and isinstance(index, Tensor) and type(axis) is int and -rank <= axis < rank and not whole:
                self._counted[id(index)] = (index, tensors[0], tensors[0].shape[axis])
        elif name in _KEEPING and tensors and id(tensors[0]) in self._counted and isinstance(result, Tensor):
            _, source, size = self._counted[id(tensors[0])]
            self._counted[id(result)] = (result, source, size)
        if name in _READING and len(tensors) > 1 and id(tensors[1]) in self._counted:
            numbers = [item for item in args[1:] if type(item) is int]
            axis = options.get("dim", numbers[0] if numbers else None)
            if type(axis) is int and -tensors[0].dim() <= axis < tensors[0].dim():
                self._select(tensors[1], tensors[0], axis)
        elif name == "__getitem__" and len(tensors) == 2 and args[1] is tensors[1] and id(tensors[1]) in self._counted:
            self._select(tensors[1], tensors[0], 0)

    def _note_index(self, name: str, tensors: Sequence[Tensor], args: Any, options: Any, result: Any) -> None:
        if name in _KEEPING and tensors and id(tensors[0]) in self._indices and isinstance(result, Tensor):
            _, argument, column = self._indices[id(tensors[0])]
            items = args[1] if name == "__getitem__" and isinstance(args[1], tuple) else ()
            if len(items) == tensors[0].dim() > 1 and type(items[-1]) is int:
                column = items[-1]
            self._indices[id(result)] = (result, argument, column)
        if name in _READING and len(tensors) > 1:
            numbers = [item for item in args[1:] if type(item) is int]
            self._read(tensors[1], tensors[0], options.get("dim", numbers[0] if numbers else None))
        elif name == "embedding" and len(tensors) > 1:
            self._read(tensors[0], tensors[1], 0)
        elif name == "__getitem__" and isinstance(args[0], Tensor):
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            axes = [item for item in items if item is not None]
            for axis, item in enumerate(axes if Ellipsis not in axes[:-1] else []):
                if isinstance(item, Tensor):
                    self._read(item, args[0], axis)

    def _read(self, index: Tensor, tensor: Tensor, axis: Any) -> None:
        """Note that an index reads along an axis of a tensor."""
        if id(index) in self._indices and type(axis) is int and -tensor.dim() <= axis < tensor.dim():
            _, argument, column = self._indices[id(index)]
            self._reads.setdefault((argument, column), []).append((tensor, tensor.shape[axis]))

    def _select(self, index: Tensor, tensor: Tensor, axis: int) -> None:
        _, source, size = self._counted[id(index)]
        if tensor.shape[axis] != size:
            self.selected.append((source, size, tensor, tensor.shape[axis]))
