"""The fix for a Partition whose selector was written before its data."""

from __future__ import annotations

import ast
from dataclasses import replace

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.fn.source import node_span, node_text
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.values import Use
from stepcore.graph.ir import Node
from stepcore.types import Multihot


def with_swap(el: Elaborator, found: Diagnostic) -> Diagnostic:
    """Return a finding about a selector (STEP210) with the fix that swaps the two inputs, if they changed places."""
    for node in el.graph.nodes:
        if len(node.input_spans) == 2 and found.span == node.input_spans[1] and _is_swapped(el, node):
            fix = _swap([use for use in el.uses if use.node == node.index])
            return replace(found, fix=fix)
    return found


def _is_swapped(el: Elaborator, node: Node) -> bool:
    if node.op is None or node.op.inputs.selector != 1:
        return False
    data, selector = (el.graph.streams[index].type for index in node.inputs)
    if data is None or selector is None:
        return False
    return isinstance(data.element, Multihot) and not isinstance(selector.element, Multihot)


def _swap(uses: list[Use]) -> Fix | None:
    """Return the edits that let two inputs change places; None where they are no names written one behind the other."""
    if len(uses) != 2 or not all(isinstance(use.expr, ast.Name) and not use.steps for use in uses):
        return None
    code = uses[0].context.code
    if uses[1].context.code is not code or not code.verbatim:
        return None
    first, second = (node_span(code, use.expr) for use in uses)
    texts = [node_text(code, use.expr, first.end + second.end) for use in uses]
    return Fix("Swap data and selector", (Edit(first, texts[1]), Edit(second, texts[0])))
