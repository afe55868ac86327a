"""From the search's streams back to a program: text of ``impl``, without Copies, which the guardian adds."""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.search.items import SearchStream
from stepcore.graph.ir import NOWHERE, Graph, GraphStream, Node
from stepcore.ops.base import Operator
from stepcore.ops.calling import Many
from stepcore.ops.map import Map
from stepcore.ops.zip import Zip
from stepcore.printing.task import graph_to_impl


def program(outputs: Sequence[SearchStream], inputs: Sequence[str]) -> str:
    """Return the text of the program that computes ``outputs`` from the inputs of these names."""
    builder = _Builder(inputs)
    builder.graph.returns = [builder.stream(item) for item in outputs]
    return graph_to_impl(builder.graph)


def moves(outputs: Sequence[SearchStream]) -> list[tuple[str, str]]:
    """Return the moves of a program, each with that of its first argument: what a cost model learns from."""
    seen: dict[int, tuple[str, str]] = {}

    def visit(item: SearchStream) -> None:
        if item.step is not None and id(item.step) not in seen:
            seen[id(item.step)] = (item.step.move, item.step.args[0].move if item.step.args else "memory")
            for arg in item.step.args:
                visit(arg)

    for output in outputs:
        visit(output)
    return list(seen.values())


class _Builder:
    """Builds the graph; what several consumers share is built once."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.graph = Graph("impl")
        for name in inputs:
            self.graph.inputs.append(self._new(name, None, 0))
        self._made: dict[int, list[int]] = {}
        self._chains: dict[tuple[object, ...], list[int]] = {}

    def stream(self, item: SearchStream) -> int:
        """Return the index of the stream that ``item`` is."""
        if item.step is None:
            return self.graph.inputs[item.source]
        made = self._made.get(id(item.step))
        if made is None:
            made = self._made[id(item.step)] = self._steps(item)
        return made[item.slot]

    def _steps(self, item: SearchStream) -> list[int]:
        assert item.step is not None
        ops, args = item.step.ops, [self.stream(arg) for arg in item.step.args]
        if not ops:
            return [self._zipped(args)]
        first, *others = ops
        results = self._node(first, args if isinstance(first, Map) else self._taken(first, args))
        for op in others:
            results = self._node(op, [results[0]])
        return results

    def _taken(self, op: Operator, args: Sequence[int]) -> list[int]:
        """Return ``args`` as ``op`` takes them: what it has no place for is zipped with the first."""
        more = len(args) - len(op.inputs.parts)
        if more <= 0 or any(isinstance(part, Many) for part in op.inputs.parts):
            return [*args]
        return [self._zipped(args[: more + 1]), *args[more + 1 :]]

    def _zipped(self, streams: Sequence[int]) -> int:
        first, *others = streams
        for other in others:
            (first,) = self._node(Zip(), [first, other])
        return first

    def _node(self, op: Operator, inputs: Sequence[int]) -> list[int]:
        """Apply ``op``; the same operator on the same streams is one node."""
        params = op.param_values()
        key = (type(op), tuple(map(_key, params.values())), *inputs)
        if key not in self._chains:
            index = len(self.graph.nodes)
            made = op.outputs.of(params)
            outputs = [self._new("", index, slot) for slot in range(made.count(params.get(made.counted_by, 0)))]
            name = type(op).__name__
            self.graph.nodes.append(Node(index, name, op, tuple(inputs), tuple(outputs), NOWHERE, NOWHERE))
            self._chains[key] = outputs
        return self._chains[key]

    def _new(self, name: str, producer: int | None, slot: int) -> int:
        index = len(self.graph.streams)
        self.graph.streams.append(GraphStream(index, name, NOWHERE, producer, slot))
        return index


def _key(value: object) -> str:
    return str(getattr(value, "func_name", value))
