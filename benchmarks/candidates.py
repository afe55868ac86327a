"""Candidates for the judge: reference programs of tasks with some things changed, as proposers get them wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from stepcore.check.programs import ImplChecker
from stepcore.findings.diagnostics import Severity
from stepcore.graph.ir import Graph, Node
from stepcore.graph.task import TaskFile
from stepcore.printing.task import canonical_key, graph_to_impl
from stepcore.text.span import Embedded

_TRIES: Final = 15  # per candidate that is wanted
_MOST_CHANGES: Final = 2
_SINGLE: Final = re.compile(r"\.apply\((\w+)\)")


def candidates(task: TaskFile, count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return up to ``count`` programs that the checker rejects and as many that it passes, no two of one graph.

    Rejected ones are told apart by their text, the others by their canonical key. Streams have other names than in the
    reference program.
    """
    assert task.impl is not None
    checker = ImplChecker(task)
    graph = checker.check(task.impl.source).graph
    draw = random.Random(seed)
    rejected: dict[str, str] = {}
    passed: dict[str, str] = {}
    for _ in range(_TRIES * count):
        if len(rejected) >= count and len(passed) >= count:
            break
        changed = graph
        for _ in range(draw.randint(0, _MOST_CHANGES)):
            changed = draw.choice(_CHANGES)(changed, task, draw)
        text = graph_to_impl(changed)
        for _ in range(draw.randint(0, 2)):
            text = _inserted(text, task, draw)
        text = re.sub(r"\bX(\d)", draw.choice((r"Y\1", r"stream_\1")), text)
        checked = checker.check(Embedded.whole(text))
        is_wrong = not checked.runnable or any(item.severity is Severity.ERROR for item in checked.diagnostics)
        kept, key = (rejected, text) if is_wrong else (passed, canonical_key(checked.graph))
        if len(kept) < count:
            kept.setdefault(key, text)
    return list(rejected.values()), list(passed.values())


def _inserted(text: str, task: TaskFile, draw: random.Random) -> str:
    """Put an Identity or a Map before an operator that takes one stream."""
    assert task.spec is not None
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if _SINGLE.search(line)]
    if not places:
        return text
    number = draw.choice(places)
    names = [fn.func_name for fn in task.spec.fns if not fn.has_state and fn.input == fn.output]
    op = draw.choice(["Identity()", *(f"Map(fn={name})" for name in names)])
    found = _SINGLE.search(lines[number])
    assert found is not None
    new = f"X{len(lines)}"
    lines[number] = _SINGLE.sub(f".apply({new})", lines[number])
    lines.insert(number, f"{new} = step.{op}.apply({found[1]})")
    return "\n".join(lines)


def _nodes(graph: Graph, old: Node, new: Node) -> Graph:
    return replace(graph, nodes=[new if node is old else node for node in graph.nodes])


def _other_function(graph: Graph, task: TaskFile, draw: random.Random) -> Graph:
    nodes = [node for node in graph.nodes if hasattr(node.op, "fn")]
    assert task.spec is not None
    if not nodes:
        return graph
    node = draw.choice(nodes)
    return _with_parameter(graph, node, "fn", draw.choice(task.spec.fns))


def _numbers(graph: Graph, _task: TaskFile, draw: random.Random) -> Graph:
    """Change a count such as ``b``, or a list of indices."""
    found: list[tuple[Node, str, object]] = []
    for node in graph.nodes:
        for name, value in node.op.param_values().items() if node.op is not None else ():
            if isinstance(value, int) and name != "N":
                found.append((node, name, max(value + draw.choice((-1, 1)), 0)))
    if not found:
        return graph
    node, name, value = draw.choice(found)
    return _with_parameter(graph, node, name, value)


def _with_parameter(graph: Graph, node: Node, name: str, value: Any) -> Graph:
    op: Any = node.op  # an operator, as its graph is complete
    return _nodes(graph, node, replace(node, op=op.made({**op.param_values(), name: value})))


def _other_stream(graph: Graph, _task: TaskFile, draw: random.Random) -> Graph:
    node = draw.choice(graph.nodes)
    earlier = [*graph.inputs, *(out for before in graph.nodes[: graph.nodes.index(node)] for out in before.outputs)]
    place = draw.randrange(len(node.inputs))
    inputs = (*node.inputs[:place], draw.choice(earlier), *node.inputs[place + 1 :])
    return _nodes(graph, node, replace(node, inputs=inputs))


_CHANGES: Final[tuple[Callable[[Graph, TaskFile, random.Random], Graph], ...]] = (
    _other_function, _numbers, _other_stream,
)  # fmt: skip
