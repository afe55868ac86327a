"""The fix for a Reassemble that could promise one branch for each position, and does not."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace

from stepcore.check.fifos import call_edit
from stepcore.check.rewriting import NoFix
from stepcore.check.typing import type_graph
from stepcore.findings.diagnostics import Diagnostic, Fix
from stepcore.frontend.elaborate import Elaborator
from stepcore.graph.ir import Graph, Node, ProgramSpec
from stepcore.ops.base import TypingContext
from stepcore.ops.pace import Routing

_PROMISE = "onehot"


def with_promise(el: Elaborator, found: Diagnostic, spec: ProgramSpec, bindings: dict[str, int]) -> Diagnostic:
    """Return a finding about the shape of an output with the fix that promises one branch for each position.

    It is offered where the selectors come from an operator that takes each chunk exactly once, so that no run can break
    the promise, and where the output then has the declared shape.
    """
    nodes = [node for node in el.graph.nodes if _may_promise(el.graph, node)]
    if not nodes:
        return found
    promising = type_graph(_promising(el.graph, nodes), spec, TypingContext(bindings))
    if any(item.span == found.span for item in promising):
        return found
    with suppress(NoFix):
        edits = dict.fromkeys(call_edit(el, node.op_span, _PROMISE, "True") for node in nodes)
        return replace(found, fix=Fix("Promise one branch for each position: onehot=True", tuple(edits)))
    return found


def _may_promise(graph: Graph, node: Node) -> bool:
    """Whether a node gathers chunks by a selector that names one branch at each position, and does not say so."""
    if node.op is None or node.op.routes is not Routing.GATHERS or getattr(node.op, _PROMISE):
        return False
    index = node.inputs[-1]
    while (producer := graph.streams[index].producer) is not None:
        made = graph.nodes[producer]
        if made.op is None or not made.op.passes:
            return made.op is not None and made.op.routes in (Routing.DEALS, Routing.ARRIVES)
        index = made.inputs[0]
    return False


def _promising(graph: Graph, nodes: list[Node]) -> Graph:
    """Return an untyped copy of ``graph`` in which these nodes promise one branch."""
    wanted = {node.index for node in nodes}
    made = copy(graph)
    made.streams = [replace(each, type=None if each.producer is not None else each.type) for each in graph.streams]
    made.nodes = [copy(node) for node in graph.nodes]
    for node in made.nodes:
        if node.op is not None and node.index in wanted:
            node.op = node.op.made({**node.op.param_values(), _PROMISE: True})
    return made
