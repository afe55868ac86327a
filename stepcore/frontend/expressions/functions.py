"""Calls, and functions that programs define."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepcore.fn.decl import FnDecl
from stepcore.frontend import calls
from stepcore.frontend.application import apply_operator
from stepcore.frontend.expressions.attributes import evaluate_attribute, member_of
from stepcore.frontend.values import UNKNOWN, FnClass, Helper, LoopValue, Method, OperatorRef, OperatorValue, Value
from stepcore.ops import miscalls

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def evaluate_walrus(el: Elaboration, node: ast.NamedExpr) -> Value:
    """Bind a name in the function around the expression, and return the value."""
    value = el.evaluate(node.value)
    frame = el.frame
    inner, frame.scope = frame.scope, frame.scope.function
    try:
        el.bind(node.target, value)
    finally:
        frame.scope = inner
    return value


def evaluate_lambda(el: Elaboration, node: ast.Lambda) -> Value:
    """Report a ``lambda`` without a name, and return it as a helper all the same."""
    text = "a `lambda` without a name is not part of the program language"
    el.report("STEP220", node, text, "name it as a helper: helper = lambda ...: ..., or use def")
    el.graph.complete = False
    return named_lambda(el, node)


def named_lambda(el: Elaboration, node: ast.Lambda) -> Helper:
    """Return the helper function that ``name = lambda ...`` makes."""
    return calls.helper(el, node)


def function_definition(el: Elaboration, node: ast.FunctionDef) -> FnDecl | FnClass | None:
    """Return what ``def`` inside a program makes besides a helper: an element function by ``@step.fn``."""
    return calls.decorated_function(el, node)


def evaluate_call(el: Elaboration, node: ast.Call) -> Value:
    """Return what a call gives: of a method, an operator, a helper or a function."""
    if len(node.keywords) > 1 and (again := _repeated(node.keywords)) is not None:
        el.tell(miscalls.repeated_parameter(again.arg or ""), again)
        el.graph.complete = False
        el.suppress_unused = True
        return UNKNOWN
    func = node.func
    if type(func) is ast.Attribute:
        el.step(func)
        if func.attr == "apply" and type(func.value) is ast.Call:  # as in each line
            owner = el.evaluate(func.value)
            if isinstance(owner, (OperatorRef, OperatorValue)):
                return apply_operator(el, owner, node)
            return calls.call(el, member_of(el, func, owner), node)
        callee = evaluate_attribute(el, func)
    else:
        callee = el.evaluate(func)
    if type(callee) is Method and isinstance(callee.owner, (OperatorRef, OperatorValue)):
        if isinstance(callee.owner, LoopValue):
            from stepcore.frontend import loops  # few programs have some

            el.hidden += 1
            return loops.call(el, callee.owner, callee.name, node)
        return apply_operator(el, callee.owner, node)
    return calls.call(el, callee, node)


def _repeated(keywords: Sequence[ast.keyword]) -> ast.keyword | None:
    """Return the keyword that stood before in a call; Python refuses a file with one only when it runs it."""
    names: set[str] = set()
    for keyword in keywords:
        if keyword.arg in names:
            return keyword
        if keyword.arg is not None:
            names.add(keyword.arg)
    return None
