"""Attributes of streams, operators, modules and values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.findings.near import nearest
from stepcore.fn.decl import FnDecl
from stepcore.frontend import advice, calls, functions
from stepcore.frontend.values import (
    UNKNOWN,
    LoopValue,
    Method,
    ModuleRef,
    OperatorRef,
    OperatorValue,
    Seen,
    TensorValue,
    TypeMaker,
    Value,
    is_stream,
    is_unknown,
)
from stepcore.records import make
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def evaluate_attribute(el: Elaboration, node: ast.Attribute) -> Value:
    """Return the attribute of a value or of a module that the file names."""
    name = node.value
    if type(name) is ast.Name and name.id in advice.LIBRARIES and _is_unknown_here(el, name.id):
        path = f"{name.id}.{node.attr}"
        el.report("STEP202", node, f"{path} works on tensors, and a program has streams", advice.of_library(node.attr))
        el.graph.complete = False
        return UNKNOWN
    owner = el.evaluate(name)
    if type(owner) is ModuleRef:  # as in each line
        is_ours = owner.name == "stepcore"
        member = calls.step_member(el, node.attr, node) if is_ours else calls.module_member(el, owner, node)
        el.seen.append(make(Seen, (node, el.frame.code, member, False)))
        return member
    return member_of(el, node, owner)


def member_of(el: Elaboration, node: ast.Attribute, owner: Value) -> Value:
    """Return the attribute of ``owner`` that ``node`` names; one that it lacks is reported."""
    if owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, ModuleRef):
        member = calls.module_member(el, owner, node)
        el.seen.append(make(Seen, (node, el.frame.code, member, False)))
        return member
    if node.attr == "apply" and isinstance(owner, (OperatorRef, OperatorValue)):
        return Method(owner, "apply")
    if node.attr == "close" and isinstance(owner, LoopValue):
        return Method(owner, "close")
    if isinstance(owner, TensorValue):
        from stepcore.frontend import tensors  # only scripts have any

        return tensors.member(owner, node.attr)
    if is_unknown(owner):
        return UNKNOWN
    if isinstance(owner, TypeMaker) and owner.name == "Stream" and node.attr == "of":
        return Method(owner, "of")
    if isinstance(owner, list) and node.attr in calls.LIST_METHODS:
        return Method(owner, node.attr)
    if isinstance(owner, dict) and node.attr in ("values", "items", "keys"):
        return Method(owner, node.attr)
    if isinstance(owner, tuple) and node.attr in getattr(owner, "_fields", ()):  # outputs that have names
        return getattr(owner, node.attr)
    if not el.lacks(owner, node):
        return UNKNOWN
    name_span = Span(el.span(node).end - len(node.attr), el.span(node).end)
    text = f"{el.what(node.value, owner)} and has no attribute {node.attr}"
    if isinstance(owner, OperatorRef | OperatorValue):
        text = f"{el.text(node.value)} has no attribute {node.attr}"
    instead = advice.of_container(node.attr, is_dict=isinstance(owner, dict)) if isinstance(owner, list | dict) else ""
    near = [] if instead else nearest(node.attr, _attributes(owner))
    fix = Fix(f"Change to {near[0]}", (Edit(name_span, near[0]),)) if near else None
    way_out = f"did you mean {near[0]}?" if near else instead or _attribute_hint(el, node, owner)
    el.report_certain("STEP224", name_span, text, way_out, fix)
    el.graph.complete = False
    return UNKNOWN


def _is_unknown_here(el: Elaboration, name: str) -> bool:
    try:
        el.frame.scope.find(name)
    except KeyError:
        return True
    return False


def _attributes(owner: Value) -> Sequence[str]:
    if isinstance(owner, LoopValue):
        return ("apply", "close")
    if isinstance(owner, OperatorRef | OperatorValue):
        return ("apply",)
    if isinstance(owner, list):
        return sorted(calls.LIST_METHODS)
    return ("values", "items", "keys") if isinstance(owner, dict) else getattr(owner, "_fields", ())


def _attribute_hint(el: Elaboration, node: ast.Attribute, owner: Value) -> str:
    text = el.text(node.value)
    if is_stream(owner) and node.attr == "ctx":
        return "the inputs of a program say how large a size is in a run: E0.ctx[M]"
    if is_stream(owner):
        operator = next(iter(el.dialect.in_any_case(node.attr)), "")
        if operator or node.attr == "apply":
            return f"operators are applied to streams: {el.operator(operator or 'OPERATOR')}(...).apply({text})"
        return advice.instead(node.attr) or "streams are only passed to operators"
    if isinstance(owner, LoopValue):
        return f"a loop has {text}.apply() and {text}.close(STREAM)"
    if isinstance(owner, OperatorRef | OperatorValue):
        return "an operator has .apply(...) alone"
    if isinstance(owner, FnDecl):
        operator = "Accum(fn={}, b=...)" if owner.has_state else "Map(fn={})"
        return f"an operator applies it: {el.operator(operator.format(text))}.apply(...)"
    if isinstance(owner, list | tuple) and owner and all(map(is_stream, owner)):
        return f"these are {len(owner)} streams, and one has it: {text}[0].{node.attr}"
    if isinstance(owner, list):
        return f"a list has {', '.join(sorted(calls.LIST_METHODS))}"
    if isinstance(owner, functions.ELEMENTS):
        return "types describe elements, and operators such as Bufferize make them"
    if isinstance(owner, Dim):
        return "a size is only written into parameters and shapes"
    return "leave it out"
