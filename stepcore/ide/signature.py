"""The call around the cursor: which parameters it takes, and which one is being written."""

from __future__ import annotations

import ast
from typing import Final

from stepcore.frontend.values import LoopValue, OperatorRef, OperatorValue, ready_made
from stepcore.ide.analysis import Analysis
from stepcore.ide.completion import operator_of
from stepcore.ide.cursor import Cursor, cursor_at
from stepcore.ide.declaring import maker_of
from stepcore.ide.docs import STEP_NAMES
from stepcore.ide.model import CallSignature
from stepcore.ide.proposals import DECORATORS, TYPE_ARGUMENTS
from stepcore.ops.base import Operator


def signature(analysis: Analysis, offset: int, task: tuple[str, str] | None = None) -> CallSignature | None:
    """Return the signature of the innermost call of ours around ``offset``."""
    cursor = cursor_at(analysis, offset, task)
    if cursor is None:
        return None
    inner = cursor.nodes[0]
    for node in cursor.nodes[1:]:
        if isinstance(node, ast.Call) and inner is not node.func:
            found = _of_call(cursor, node, inner)
            if found is not None:
                return found
        inner = node
    return None


_MAKES: Final = {
    "fn": "Makes an element function.",
    "program": "Makes a program of a function of streams.",
    "composition": "Makes a composition of a function of tensors that applies programs.",
}


_OF_CLOSE: Final = CallSignature(
    "loop.close(input)",
    "Consumes the stream that comes back by the loop, once, in the body that makes the loop; gives nothing.",
    (("input", ""),),
    0,
)


def _of_call(cursor: Cursor, call: ast.Call, inside: ast.AST) -> CallSignature | None:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "apply":
        owner = cursor.value(call.func.value)
        operator = operator_of(owner)
        return _of_apply(operator) if operator is not None and isinstance(owner, OperatorValue | OperatorRef) else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "close":
        loop = cursor.value(call.func.value)
        return _OF_CLOSE if isinstance(loop, LoopValue) else None
    operator = operator_of(cursor.value(call.func))
    if operator is not None:
        calling = operator.calling
        docs = [(calling.label(param), f"{calling.kind_text(param)}. {param.doc}") for param in calling.params]
        return _signature(operator.__name__, f"{operator.summary}\n\n`{operator.rule}`", docs, inside, len(calling.own))
    if made := ready_made(cursor.value(call.func)):
        from stepcore.ide.ready_made import call_text, parameters, summary  # few files name one

        return _by_position(call_text(made), summary(made), parameters(made), call, inside)
    name = maker_of(cursor, call)
    if name in _MAKES:
        docs = [(f"{key}=...", doc) for key, doc in DECORATORS[name].items()]
        return _signature(f"step.{name}", _MAKES[name], docs, inside, len(docs))
    if name not in TYPE_ARGUMENTS:
        return None
    wanted = TYPE_ARGUMENTS[name]
    return _by_position(
        f"step.{name}({', '.join(key for key, _ in wanted)})", STEP_NAMES[name][1], wanted, call, inside
    )


def _by_position(
    label: str, text: str, parameters: tuple[tuple[str, str], ...], call: ast.Call, inside: ast.AST
) -> CallSignature:
    """Return the signature of what makes a type, or a function for types: its arguments go by position."""
    active = next((at for at, item in enumerate(call.args) if item is inside), None)
    return CallSignature(label, text, parameters, active if active is None else min(active, len(parameters)))


def _of_apply(operator: type[Operator]) -> CallSignature:
    name = f"{operator.__name__}(...).apply"
    label = operator.inputs.sketch()
    text = f"Consumes {operator.inputs.text}; gives {operator.outputs.text}.\n\n`{operator.rule}`"
    return CallSignature(f"{name}({label})", text, ((label, ""),) if label else (), 0)


def _signature(name: str, text: str, docs: list[tuple[str, str]], inside: ast.AST, own: int) -> CallSignature:
    """Return the signature whose first ``own`` parameters are those that matter: one alone is what is written next."""
    parameters = tuple(docs)
    keys = [label.partition("=")[0] for label, _ in docs]
    active = keys.index(inside.arg) if isinstance(inside, ast.keyword) and inside.arg in keys else None
    if active is None and own == 1:
        active = 0
    return CallSignature(f"{name}({', '.join(label for label, _ in parameters)})", text, parameters, active)
