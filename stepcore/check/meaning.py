"""Whether a fix leaves a program what it was: the same operators on the same streams, but for ``Copy``."""

from __future__ import annotations

from typing import Any

from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Graph


def same_meaning(before: Graph, after: Graph) -> bool:
    """Return whether two graphs are equal once every copy counts as the stream that it copies."""
    return _meaning(before) == _meaning(after)


def _meaning(graph: Graph) -> list[object]:
    """Return what each operator computes from what, and last what is returned."""
    stands_for: dict[int, object] = {index: ("input", place) for place, index in enumerate(graph.inputs)}
    found: list[object] = []
    for node in graph.nodes:
        inputs = tuple(stands_for.get(index) for index in node.inputs)
        if node.op_name == "Copy" and len(inputs) == 1:
            stands_for.update(dict.fromkeys(node.outputs, inputs[0]))
            continue
        stands_for.update((index, (len(found), slot)) for slot, index in enumerate(node.outputs))
        found.append((node.op_name, {name: _param(value) for name, value in node.params.items()}, inputs))
    return [*found, [stands_for.get(index) for index in graph.returns]]


def _param(value: Any) -> object:
    # Declarations know where they stand in the file, which an edit moves.
    return value.func_name if isinstance(value, FnDecl) else value
