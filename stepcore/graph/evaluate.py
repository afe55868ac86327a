"""Running a graph, whatever it is run on: tensors, sizes, costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from stepcore.graph.typed import TypedGraph, TypedNode

D = TypeVar("D")


class GraphRuntime(Protocol[D]):
    """What a graph can be run on. One that computes data hands itself to the operator's semantics
    (:meth:`stepcore.ops.base.Operator.run`); another may read other facets of the operator.
    """

    def apply(self, node: TypedNode, inputs: Sequence[D], /) -> Sequence[D]:
        """Return what the operator of ``node`` makes of ``inputs`` (flat, in its order), one for each output."""


Observer: TypeAlias = Callable[[TypedNode, Sequence[D]], None]


def evaluate(
    graph: TypedGraph, runtime: GraphRuntime[D], inputs: Sequence[D], observe: Observer[D] | None = None
) -> list[D]:
    """Run ``graph`` operator by operator and return what each stream holds, by its index.

    ``observe`` is told the outputs of each node as soon as they are there. What either of the two raises ends the run.
    """
    streams: list[Any] = [None] * len(graph.streams)
    for index, given in zip(graph.inputs, inputs, strict=True):
        streams[index] = given
    held, apply = streams.__getitem__, runtime.apply  # this loop is run for each candidate of a search
    for node in graph.nodes:
        results = apply(node, [*map(held, node.inputs)])
        if len(node.outputs) == 1:
            (streams[node.outputs[0]],) = results
        else:
            for index, result in zip(node.outputs, results, strict=True):
                streams[index] = result
        if observe is not None:
            observe(node, results)
    return streams
