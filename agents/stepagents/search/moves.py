"""Programs as the search would have made them: the moves of a graph, whoever wrote it.

Copies are left out, Zips belong to what takes their result, and the macro moves of the search (placeholders,
stash-and-repeat) are recognized as one. What the search would never do stands as the operator that it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stepagents.search.broadcast import insertion_ops
from stepagents.search.items import embeddings
from stepagents.search.space import Space
from stepagents.search.unary import flatten_name, reshape_name
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.accum import Accum
from stepcore.ops.base import Operator
from stepcore.ops.bufferize import Bufferize
from stepcore.ops.flatten import Flatten
from stepcore.ops.promote import Promote
from stepcore.ops.repeat import Repeat
from stepcore.ops.reshape import Reshape
from stepcore.ops.scan import Scan
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType

_LONGEST: Final = 8  # operators of one stash-and-repeat
_INSERTING: Final = frozenset({"Promote", "Bufferize", "Repeat", "RepeatRef", "Streamify", "Flatten"})
_JOINING: Final = frozenset({"Copy", "Zip"})


@dataclass(frozen=True, slots=True)
class MadeStream:
    """A stream of a program: its type, and the name of the move that made it."""

    index: int
    type: StreamType
    made_by: str


@dataclass(frozen=True, slots=True)
class Move:
    """One move: operators in a row on a stream (the first argument), with what comes out."""

    name: str
    ops: tuple[Operator, ...]
    source: MadeStream
    result: StreamType


class Moves:
    """The moves of a graph of one task."""

    def __init__(self, graph: TypedGraph, space: Space) -> None:
        self._graph = graph
        self._space = space
        self._made: dict[int, MadeStream] = {}
        self._inside: set[int] = set()  # nodes that are part of a macro move, but not its last
        self._broadcasts: dict[int, int] = {}  # stream brought to another shape -> the stream that it was
        self._ends: dict[int, int] = {}  # Scan node of a macro move -> the Flatten after it
        self.moves: list[Move] = []
        self._find_macros()
        for index in graph.inputs:
            self._made[index] = MadeStream(index, self._type(index), "input")
        for node in graph.nodes:
            if node.op_name not in _JOINING and node.index not in self._inside:
                self._note(node)

    @property
    def streams(self) -> list[MadeStream]:
        """The streams that moves start from or lead to, inputs first."""
        return list(self._made.values())

    # What belongs together --------------------------------------------------------------------------------------------

    def _find_macros(self) -> None:
        for node in self._graph.nodes:
            if node.op_name in {"Map", "Accum", "Scan", "Partition"}:
                arguments = node.inputs if node.op_name != "Partition" else node.inputs[:1]
                before = self._placeholder(node)
                for stream in self._components(before.inputs if before is not None else arguments):
                    self._find_broadcast(stream)
        for node in self._graph.nodes:
            before = self._placeholder(node)
            if before is not None:
                self._inside.add(before.index)

    def _find_broadcast(self, index: int) -> None:
        """Look for the longest row of operators before a stream that only inserts dimensions."""
        ops: list[Operator] = []
        nodes: list[TypedNode] = []
        target = self._type(index).shape
        best: tuple[int, list[TypedNode]] | None = None
        at = index
        while len(ops) < _LONGEST and (node := self._producer(at)) is not None and node.op_name in _INSERTING:
            # The other way to repeat innermost, along a stream that has the shape already.
            repeats = node.op_name == "RepeatRef"
            ops.insert(0, Repeat(n=self._type(at).shape[0]) if repeats else node.op)
            nodes.append(node)
            at = self._resolved(node.inputs[0])
            kind = self._type(at)
            if any(insertion_ops(kind.element, p, target) == tuple(ops) for p in embeddings(kind.shape, target)):
                best = (at, list(nodes))
        if best is not None:
            self._broadcasts[index] = best[0]
            self._inside.update(node.index for node in best[1])

    def _placeholder(self, node: TypedNode) -> TypedNode | None:
        """Return the Promote that makes one macro move with ``node``."""
        if not isinstance(node.op, Accum | Scan | Bufferize):
            return None
        before = self._producer(self._resolved(node.inputs[0]))
        if before is None or not isinstance(before.op, Promote):
            return None
        count = len(self._type(before.inputs[0]).shape)
        reach = node.op.a if isinstance(node.op, Bufferize) else node.op.b
        outer = before.op.b == count and reach == count
        inner = isinstance(node.op, Accum) and before.op.b == 0 and reach == 1
        if isinstance(node.op, Scan) and outer:
            after = next((n for n in self._graph.nodes if node.outputs[0] in map(self._resolved, n.inputs)), None)
            if after is None or not isinstance(after.op, Flatten) or tuple(after.op.L) != (count,):
                return None
            self._ends[node.index] = after.index
            self._inside.add(after.index)
        return before if outer or inner else None

    # Moves ------------------------------------------------------------------------------------------------------------

    def _note(self, node: TypedNode) -> None:
        if not node.inputs or not node.outputs:  # memory off chip is read or written
            self._made.update((i, MadeStream(i, self._type(i), node.op_name)) for i in node.outputs)
            return
        before = self._placeholder(node)
        last = self._graph.nodes[self._ends[node.index]] if node.index in self._ends else node
        taken = self._components((before or node).inputs if node.op_name != "Merge" else node.inputs[:1])
        source = self._source(taken[0])
        ops = tuple(n.op for n in (before, node, last if last is not node else None) if n is not None)
        name = self._name(node, before)
        for output in last.outputs:
            self._made[output] = MadeStream(output, self._type(output), name)
        self.moves.append(Move(name, ops, source, self._type(last.outputs[0])))

    def _name(self, node: TypedNode, before: TypedNode | None) -> str:
        if before is not None:
            return f"{node.op_name}{'One' if isinstance(before.op, Promote) and before.op.b == 0 else 'All'}"
        shape = self._type(node.inputs[0]).shape
        if isinstance(node.op, Flatten):
            return flatten_name(shape[node.op.L[0] - 1 : node.op.L[-1] + 1], self._space)
        if isinstance(node.op, Reshape):
            return reshape_name(shape[node.op.L[0]], Dim.of(node.op.S), self._space)
        return node.op_name

    def _source(self, index: int) -> MadeStream:
        """Return the stream that an argument was before it was brought to a shape."""
        index = self._broadcasts.get(index, index)
        found = self._made.get(index)
        return found if found is not None else MadeStream(index, self._type(index), "broadcast")

    # The graph without Copies and Zips --------------------------------------------------------------------------------

    def _components(self, indices: tuple[int, ...]) -> list[int]:
        return [part for index in indices for part in self._parts(index)]

    def _parts(self, index: int) -> Iterator[int]:
        index = self._resolved(index)
        node = self._producer(index)
        if node is not None and node.op_name == "Zip":
            for stream in node.inputs:
                yield from self._parts(stream)
        else:
            yield index

    def _resolved(self, index: int) -> int:
        """Return the stream that a copy is of."""
        while (node := self._producer(index)) is not None and node.op_name == "Copy":
            index = node.inputs[0]
        return index

    def _producer(self, index: int) -> TypedNode | None:
        producer = self._graph.streams[index].producer
        return None if producer is None else self._graph.nodes[producer]

    def _type(self, index: int) -> StreamType:
        return self._graph.streams[index].type
