"""Graphs that are complete and well typed: what checking hands on, and all that everything behind it takes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, cast

from stepcore.graph.ir import Graph, GraphStream, Node
from stepcore.ops.pace import LoopPart, OffChipUse

if TYPE_CHECKING:
    from stepcore.ops.base import Operator
    from stepcore.types import StreamType

    class TypedStream(GraphStream):
        """A stream whose type is known."""

        type: StreamType

    class TypedNode(Node):
        """An application whose operator could be built."""

        op: Operator

else:  # the same objects: of those in a typed graph is known what others may lack
    TypedStream, TypedNode = GraphStream, Node


class TypedGraph:
    """A program that can be run, measured and written down: every operator is built, every stream has its type.

    Nodes stand in an order in which they can run; ``inputs`` and ``returns`` are indices of streams. The operators'
    rules gave the types, in the pass that also reports what breaks them (:mod:`stepcore.check.typing`).

    Raises:
        ValueError: ``graph`` is not complete, a type is missing, or its parts do not belong together.
    """

    __slots__ = ("_steps", "has_loops", "inputs", "name", "nodes", "returns", "streams")

    def __init__(self, graph: Graph) -> None:
        for fault in (*_missing(graph), *faults(graph)):
            raise ValueError(f"{graph.name} is no typed graph: {fault}")
        self.name = graph.name
        self.nodes = cast("tuple[TypedNode, ...]", tuple(graph.nodes))
        self.streams = cast("tuple[TypedStream, ...]", tuple(graph.streams))
        self.inputs = tuple(graph.inputs)
        self.returns = tuple(graph.returns)
        self.has_loops = any(node.op.looping is not LoopPart.NOTHING for node in self.nodes)
        self._steps: Hashable = None

    @property
    def steps(self) -> Hashable:
        """What graphs share that compute the same in the same order, from the same inputs.

        What passes a stream on as it is (``Copy``, ``Identity``) computes nothing and does not count; where loops name
        their streams, or stores say what waits for what, everything counts.
        """
        if self._steps is None:
            self._steps = _all_steps(self) if self.has_loops or has_stores(self) else _computing_steps(self)
        return self._steps


def is_typed(graph: Graph) -> bool:
    """Return whether checking could build and type all of a graph, so that it can become a :class:`TypedGraph`."""
    return next(_missing(graph), None) is None


def _all_steps(graph: TypedGraph) -> Hashable:
    return tuple([(_operation(node.op), node.inputs) for node in graph.nodes]), graph.returns


def _computing_steps(graph: TypedGraph) -> Hashable:
    """Return the operators that compute, with the streams that they take, numbered in the order of their making."""
    places: list[int] = [0] * len(graph.streams)
    for place, index in enumerate(graph.inputs):
        places[index] = place
    made = len(graph.inputs)
    steps: list[tuple[Hashable, tuple[int, ...]]] = []
    for node in graph.nodes:
        op = node.op
        given = [places[index] for index in node.inputs]
        if op.passes:
            for index in node.outputs:
                places[index] = given[0]
            continue
        steps.append((_operation(op), tuple(given)))
        for index in node.outputs:
            places[index] = made
            made += 1
    return tuple(steps), tuple([places[index] for index in graph.returns])


def _operation(op: Operator) -> Hashable:
    """Return the kind and the parameters of an operator, which are compared without its methods: sooner."""
    named = vars(op)
    return type(op), tuple(named), tuple(named.values())


def _missing(graph: Graph) -> Iterator[str]:
    if not graph.complete:
        yield "something could not be built"
    if not graph.returns and not has_stores(graph):
        yield "it returns nothing"
    for node in graph.nodes:
        if node.op is None:
            yield f"{node.written} could not be built"
    for stream in graph.streams:
        if stream.type is None:
            yield f"the type of stream {stream.index} is unknown"


def has_stores(graph: Graph | TypedGraph) -> bool:
    """Return whether a program writes memory: one that does need not return anything."""
    return any(node.op is not None and node.op.off_chip is OffChipUse.STORES for node in graph.nodes)


def faults(graph: Graph) -> Iterator[str]:
    """Yield how the parts of a graph do not belong together.

    Streams and nodes know their places. Each stream is an input or one result of its producer, what a node takes and
    what is returned was made before, and an operator gives its node the name.
    """
    streams = graph.streams
    for place, index in enumerate([stream.index for stream in streams]):
        if index != place:
            yield f"stream {place} takes itself for number {index}"
    made = {index for index in graph.inputs if streams[index].producer is None}
    if len(made) < len(graph.inputs):
        yield "an input is made by a node, or stands there twice"
    for place, node in enumerate(graph.nodes):
        if node.index != place:
            yield f"node {place} takes itself for number {node.index}"
        op = node.op
        if op is not None and node.op_name != type(op).__name__:
            yield f"{node.op_name} is the name of a {type(op).__name__}"
        if not made.issuperset(node.inputs):
            yield f"{node.written} takes what was not made before it"
        for slot, index in enumerate(node.outputs):
            stream = streams[index]
            if index in made or stream.producer != place or stream.slot != slot:
                yield f"stream {index} is not the result {slot} of {node.written} alone"
            made.add(index)
    if not made.issuperset(graph.returns):
        yield "something is returned that was not made"
    if len(made) < len(streams):
        yield "there are streams that nobody makes"
