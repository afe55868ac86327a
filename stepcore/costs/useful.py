"""Useful FLOPs: those that are spent on data, not on what fills up lists (``Reshape`` with ``pad``).

A stream that comes from filled data holds a *share* of data: so many of its elements were there before. Functions work
on that share of what they are given. Copies, tuples, shapes, repetitions and routing hand it on, and so do tiles and
buffers, some of whose rows are filling. A fold over the filled dimension ends it: each chunk has data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.flatten import Flatten
from stepcore.ops.pace import Routing
from stepcore.ops.promote import Promote
from stepcore.ops.reshape import Reshape
from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import element_count

_INSIDE: Final = -1  # of the elements, which are tiles or buffers
_JOINS: Final = (Routing.JOINS, Routing.GATHERS, Routing.ARRIVES)


class _Share(Record):
    """Which part of the elements is data; ``place`` is the dimension that was filled, or inside. ``marks``: padding."""

    part: Fraction
    place: int
    marks: bool = False


def useful_flops(graph: TypedGraph, flops: Sequence[Dim | None], sizes: Mapping[str, int]) -> int | None:
    """Return how many of the FLOPs of all operators (``flops``, by node) are spent on data, at the sizes of a run.

    None where not all sizes are known.
    """
    try:
        return round(_Shares(graph, sizes).useful(flops))
    except DimError:
        return None


class _Shares:
    """The shares of the streams of a graph."""

    def __init__(self, graph: TypedGraph, sizes: Mapping[str, int]) -> None:
        self._graph = graph
        self._sizes = sizes
        self._found: dict[int, _Share] = {}

    def useful(self, flops: Sequence[Dim | None]) -> Fraction:
        """Return the sum of what each operator spends on data. Raises :class:`DimError` where a size is unknown."""
        total = Fraction(0)
        for node, amount in zip(self._graph.nodes, flops, strict=True):
            if amount is None:
                raise DimError(f"the work of {node.op_name} is not known")
            total += amount.bind(self._sizes) * self._read(node)
            made = self._made(node)
            if made is not None:
                self._found.update(dict.fromkeys(node.outputs, made))
                if node.op.fills:
                    self._found[node.outputs[-1]] = _Share(made.part, made.place, marks=True)
        return total

    def _read(self, node: TypedNode) -> Fraction:
        if node.op.routes in _JOINS:
            return self._joined(node)
        index = self._least(node)
        return Fraction(1) if index is None else self._found[index].part

    def _least(self, node: TypedNode) -> int | None:
        """Return the input with the smallest share: where one of those read in step is filling, nothing is useful."""
        filled = [index for index in node.inputs if index in self._found]
        return min(filled, key=lambda index: self._found[index].part, default=None)

    def _made(self, node: TypedNode) -> _Share | None:
        index = self._least(node)
        if node.op.fills:
            part = self._found[index].part if index is not None else 1
            before, after = self._count(node.inputs[0]), self._count(node.outputs[0])
            return _Share(Fraction(before, after) * part if after else Fraction(1), 0)
        if index is None or not node.outputs:
            return None
        selector = self._found.get(node.inputs[-1])
        if node.op.routes is Routing.SPLITS and selector is not None and selector.marks:
            return None  # it parts data from filling
        share, rank = self._found[index], len(self._shape(node.outputs[0])) - 1
        if node.op.routes in _JOINS:
            return _Share(self._joined(node), min(share.place, rank))
        return share if share.place == _INSIDE else _handed_on(node, share, rank, len(self._shape(index)) - 1)

    def _joined(self, node: TypedNode) -> Fraction:
        """Return the share of all branches together."""
        branches = node.inputs[:-1] if node.op.routes.by_selector else node.inputs
        counts = [self._count(index) for index in branches]
        parts = [self._found[index].part if index in self._found else Fraction(1) for index in branches]
        data = sum((part * count for part, count in zip(parts, counts, strict=True)), Fraction(0))
        return data / sum(counts) if sum(counts) else Fraction(1)

    def _shape(self, index: int) -> tuple[Dim, ...]:
        return self._graph.streams[index].type.shape

    def _count(self, index: int) -> int:
        return element_count(self._shape(index)).bind(self._sizes)


def _handed_on(node: TypedNode, share: _Share, rank: int, before: int) -> _Share | None:
    """Return the share of what an operator makes of elements, ``before`` being the rank that they had."""
    op, place, more = node.op, share.place, rank - before
    if op.pace is not None and op.pace.folds:
        if place + more >= 0:
            return _Share(share.part, place + more, share.marks)
        return None if op.pace.applies else _Share(share.part, _INSIDE, share.marks)
    if isinstance(op, Promote):
        place += op.b <= place
    elif isinstance(op, Flatten):
        place -= sum(index <= place for index in op.L)
    elif isinstance(op, Reshape):
        place += sum(index <= place for index in op.L)
    elif more > 0 and op.routes is Routing.NOTHING:
        place += more  # repetitions stand inside
    return _Share(share.part, min(place, rank), share.marks)
