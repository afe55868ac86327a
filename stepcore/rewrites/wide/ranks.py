"""How many innermost dimensions of each stream go into its elements, so that all operators still fit together.

One choice fixes others: what is zipped has the same dimensions inside, what is repeated one more, a fold takes some
away. Where an operator moves single elements about (Partition, Reassemble, Scan, ...) the streams stay as they are:
its inputs are taken apart by Streamify, its results are put together by Bufferize. An input, and what is returned, may
stay as it is in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, Final, TypeAlias

from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.records import Record
from stepcore.rewrites.wide.values import NotWide
from stepcore.types import Buffer, Scalar, components

_SHAPED: Final = (
    "Accum", "Bufferize", "Copy", "Flatten", "Identity", "Map", "Promote", "Repeat", "RepeatRef", "Zip",
)  # fmt: skip
_EQUAL: Final = ("Copy", "Identity", "Map", "Zip")


class WideRanks(Record):
    """By stream how many dimensions its elements stand for, where a node makes it and where one reads it."""

    made: tuple[int, ...]
    read: tuple[int, ...]


Seed: TypeAlias = tuple[int, int]  # a stream, and how many of its dimensions go into its elements


def wide_ranks(
    graph: TypedGraph, seed: Seed, others: Sequence[Seed], fixed: Set[int], *, keeps_ends: bool
) -> WideRanks:
    """Return the dimensions that go into elements where those of ``seed`` do, and of ``others`` as far as they fit.

    The nodes in ``fixed`` stay as they are, and so do inputs and results where ``keeps_ends``.

    Raises:
        NotWide: the choices contradict each other, or a dimension cannot lie in an element.
    """
    return _Ranks(graph, fixed, keeps_ends=keeps_ends).solved(seed, others)


class _Ranks:
    """What is known so far: streams that are the same where they are made and read have one number."""

    def __init__(self, graph: TypedGraph, fixed: Set[int], *, keeps_ends: bool) -> None:
        self._graph = graph
        self._nodes = [node for node in graph.nodes if node.index not in fixed and is_shaped(graph, node)]
        free = {node.index for node in self._nodes}
        readers = {stream: node.index for node in graph.nodes for stream in node.inputs}
        ends: Set[int] = {*graph.returns} if keeps_ends else set()
        inputs: Set[int] = {*graph.inputs} if keeps_ends else set()
        self._stays_made = {
            stream.index for stream in graph.streams
            if stream.index in inputs or (stream.producer is not None and stream.producer not in free)
        }  # fmt: skip
        self._stays_read = {
            stream
            for stream in range(len(graph.streams))
            if stream in ends or readers.get(stream, -1) not in {*free, -1}
        }
        self._known: dict[int, int] = {}
        self._touching: dict[int, list[TypedNode]] = {}
        for node in self._nodes:
            for stream in (*node.inputs, *node.outputs):
                self._touching.setdefault(stream, []).append(node)

    def solved(self, seed: Seed, others: Sequence[Seed]) -> WideRanks:
        """Return the whole solution."""
        if seed[0] in self._stays_made and seed[0] in self._stays_read:
            raise NotWide(f"{self._name(seed[0])} goes to what takes single elements")
        self._follow(seed)
        for other in others:
            before = dict(self._known)
            try:
                if other[0] not in before:
                    self._follow(other)
            except NotWide:
                self._known = before
        streams = range(len(self._graph.streams))
        made = tuple(0 if each in self._stays_made else self._known.get(each, 0) for each in streams)
        read = tuple(0 if each in self._stays_read else self._known.get(each, 0) for each in streams)
        return WideRanks(made, read)

    def _follow(self, seed: Seed) -> None:
        """Note a choice and all that it fixes."""
        waiting = [seed]
        touched: dict[int, TypedNode] = {}
        while waiting:
            stream, rank = waiting.pop()
            if self._note(stream, rank):
                near = self._touching.get(stream, ())
                touched.update((node.index, node) for node in near)
                waiting += [pair for node in near for pair in self._implied(node)]
        for node in touched.values():
            if not _holds(self._graph, node, self._rank):
                raise NotWide(f"{node.written} would be given dimensions in elements that it needs outside")

    def _note(self, stream: int, rank: int) -> bool:
        """Note a number; return whether that is new."""
        if self._known.get(stream, rank) != rank:
            raise NotWide(
                f"{self._name(stream)} would have other dimensions in its elements where it is made than read"
            )
        shape = self._graph.streams[stream].type.shape
        if not 0 <= rank < len(shape):
            raise NotWide(f"no dimension of {self._name(stream)} would stay outside of its elements")
        if any(size.is_open for size in shape[:rank]):
            raise NotWide(f"only a run knows how long {self._name(stream)} is")
        is_new = stream not in self._known
        self._known[stream] = rank
        return is_new

    def _implied(self, node: TypedNode) -> Iterator[tuple[int, int]]:
        """Yield what follows for the streams of a node from those that are known."""
        for stream, rank in _implied(self._graph, node, self._known.get):
            if rank < 0:
                raise NotWide(f"{node.written} would be given dimensions in elements that it needs outside")
            if self._known.get(stream) != rank:
                yield stream, rank

    def _rank(self, stream: int) -> int:
        return self._known.get(stream, 0)

    def _name(self, stream: int) -> str:
        return self._graph.streams[stream].name or "a stream"


def is_shaped(graph: TypedGraph, node: TypedNode) -> bool:
    """Whether it is known what an operator does to elements that stand for dimensions of their stream."""
    op: Any = node.op
    elements = [graph.streams[stream].type.element for stream in (*node.inputs, *node.outputs)]
    parts = [each for element in elements for each in components(element)]
    if not node.inputs or not all(isinstance(getattr(each, "element", each), Scalar) for each in parts):
        return False
    if node.op_name == "Streamify":
        more = _more(graph, node) if len(node.inputs) > 1 else 1
        return op.shape is None and op.stride is None and more == 1
    return node.op_name in _SHAPED


def _more(graph: TypedGraph, node: TypedNode) -> int:
    """Return how many dimensions the reference of a read has more than its data."""
    data, ref = (graph.streams[stream].type.shape for stream in node.inputs)
    return len(ref) - len(data)


def buffer_rank(graph: TypedGraph, node: TypedNode) -> int:
    """Return how many dimensions the buffers have that a Streamify reads."""
    element = graph.streams[node.inputs[0]].type.element
    return len(element.shape) if isinstance(element, Buffer) else 0


def _implied(graph: TypedGraph, node: TypedNode, known: Callable[[int], int | None]) -> Iterator[tuple[int, int]]:
    """Yield (stream, rank) that follow; a number of 0 mostly says nothing, because a dimension may come or go there."""
    op: Any = node.op
    first, last = node.inputs[0], node.outputs[0]
    before, after = known(first), known(last)
    if node.op_name in _EQUAL:
        streams = (*node.inputs, *node.outputs)
        found = [rank for stream in streams if (rank := known(stream)) is not None]
        yield from ((stream, found[0]) for stream in streams if found)
        return
    if node.op_name == "RepeatRef" or (node.op_name == "Streamify" and len(node.inputs) > 1):
        ref = node.inputs[1]
        deep = buffer_rank(graph, node) if node.op_name == "Streamify" else 0
        if after:
            yield ref, after - deep
            yield first, max(after - deep - 1, 0)
        if known(ref):
            yield last, known(ref) + deep  # type: ignore[operator]
        if before:
            yield ref, before + 1
            yield last, before + 1 + deep
        return
    if node.op_name == "Accum":
        found = [rank for stream in node.inputs if (rank := known(stream)) is not None]
        yield from ((stream, found[0]) for stream in node.inputs if found)
        before = found[0] if found else None
    forward, backward = _steps(graph, node)
    if before and not (node.op_name == "Promote" and before == op.b and after == before + 1):
        yield last, forward(before)
    if after:
        yield first, backward(after)


def _steps(graph: TypedGraph, node: TypedNode) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """Return how the number changes through a node with one result, and how it does on the way back; -1 for never."""
    op: Any = node.op
    match node.op_name:
        case "Repeat":
            return lambda rank: rank + 1, lambda rank: rank - 1
        case "Streamify":
            deep = buffer_rank(graph, node)
            return lambda rank: rank + deep, lambda rank: rank - deep
        case "Bufferize":
            return lambda rank: max(rank - op.a, 0), lambda rank: rank + op.a
        case "Accum":
            return lambda rank: max(rank - op.b, 0), lambda rank: rank + op.b
        case "Promote":
            return lambda rank: rank + (rank > op.b), lambda rank: rank - (rank > op.b)
    low, high = min(op.L) - 1, max(op.L)
    merged = high - low
    return (
        lambda rank: rank if rank <= low else rank - merged if rank > high else -1,
        lambda rank: rank if rank <= low else rank + merged,
    )


def _holds(graph: TypedGraph, node: TypedNode, rank: Callable[[int], int]) -> bool:
    """Whether the numbers of a node's streams fit together, those that nothing was said of being 0."""
    op: Any = node.op
    before, after = rank(node.inputs[0]), rank(node.outputs[0])
    if node.op_name in _EQUAL:
        return len({rank(stream) for stream in (*node.inputs, *node.outputs)}) == 1
    if node.op_name == "RepeatRef" or (node.op_name == "Streamify" and len(node.inputs) > 1):
        deep = buffer_rank(graph, node) if node.op_name == "Streamify" else 0
        ref = rank(node.inputs[1])
        return after == (ref + deep if after else 0) and (before == max(ref - 1, 0))
    if node.op_name == "Accum" and len({rank(stream) for stream in node.inputs}) > 1:
        return False
    if node.op_name in ("Repeat", "Streamify") and not before and not after:
        return True
    if node.op_name == "Promote" and before == op.b and after == before + 1:
        return True
    return after == _steps(graph, node)[0](before)
