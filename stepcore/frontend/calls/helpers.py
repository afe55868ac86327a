"""Helper functions of a file: a call evaluates their statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from stepcore.findings.budget import OutOfBudget
from stepcore.fn.decl import FnDecl
from stepcore.frontend import functions, sequences
from stepcore.frontend.bindings import bound_in
from stepcore.frontend.state import MAX_CALL_DEPTH, Abandon, Frame
from stepcore.frontend.values import (
    UNKNOWN,
    EvaluationContext,
    FnClass,
    Helper,
    Scope,
    TypeMaker,
    UnknownSequence,
    Value,
)
from stepcore.text.wording import few

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def helper(el: Elaboration, node: ast.FunctionDef | ast.Lambda) -> Helper:
    """Return the helper function that a definition makes; its defaults are evaluated here, once for all calls."""
    made = Helper(node, el.frame.scope, el.frame.code)
    _defaults(el, made)
    return made


def call_helper(el: Elaboration, helper: Helper, node: ast.Call) -> Value:
    """Elaborate a helper function with its arguments bound; its return is the value of the call."""
    outer = el.frame
    if outer.context.depth >= MAX_CALL_DEPTH:
        el.report("STEP221", node, "helper functions call each other too deeply", "end the recursion")
        raise Abandon
    bound = _bind_parameters(el, helper, node)
    if bound is None:
        el.suppress_unused = True
        return UNKNOWN
    names, pairs = bound
    body = helper.node.body if isinstance(helper.node, ast.FunctionDef) else []
    context = EvaluationContext(
        "call", helper.code, outer.context, node, body, arguments=pairs, depth=outer.context.depth + 1
    )
    inside = [ast.Expr(helper.node.body)] if isinstance(helper.node, ast.Lambda) else helper.node.body
    own = bound_in(inside, helper.code.text)
    el.frame = Frame(Scope(names, helper.scope, own=own), helper.code, context)
    try:
        if isinstance(helper.node, ast.Lambda):
            return el.evaluate(helper.node.body)
        el.suite(helper.node.body)
        returned = el.frame.returned
    except OutOfBudget as error:
        raise error.at(el.span(el.at)) from None  # it stands in the helper's text
    finally:
        el.frame = outer
    return _returned(el, returned)


def _returned(el: Elaboration, returned: list[tuple[Any, ast.expr | None, Value]]) -> Value:
    if not returned:
        return None
    path, _, value = returned[-1]
    for earlier_path, _, earlier in reversed(returned[:-1]):
        branch = next((arm for arm in earlier_path if arm not in path), None)
        if branch is None:
            return earlier
        first, second = (earlier, value) if branch[1] == 0 else (value, earlier)
        value = el.join(branch[0], first, second)
    return value


def _bind_parameters(
    el: Elaboration, helper: Helper, node: ast.Call
) -> tuple[dict[str, Value], list[tuple[ast.expr, Value]]] | None:
    spec = helper.node.args
    positional = [*spec.posonlyargs, *spec.args]
    names: dict[str, Value] = {}
    pairs: list[tuple[ast.expr, Value]] = []
    given: list[tuple[ast.expr, Value]] = []
    for arg in node.args:
        value = el.evaluate(arg.value if isinstance(arg, ast.Starred) else arg)
        if not isinstance(arg, ast.Starred):
            given.append((arg, value))
            continue
        items = sequences.iterate(el, arg, value)
        if items is None or isinstance(items, UnknownSequence):
            return None
        pairs.append((arg.value, value))
        given.extend((arg.value, item) for item in items)
    for parameter, (expr, value) in zip(positional, given, strict=False):
        names[parameter.arg] = value
        pairs.append((expr, value))
    rest = [value for _, value in given[len(positional) :]]
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(rest)
        pairs.extend(given[len(positional) :])
    known = {parameter.arg for parameter in (*spec.args, *spec.kwonlyargs)}
    wrong = bool(rest) and spec.vararg is None
    for keyword in node.keywords:
        value = el.evaluate(keyword.value)
        wrong = wrong or keyword.arg not in known or keyword.arg in names
        if keyword.arg is not None:
            names[keyword.arg] = value
            pairs.append((keyword.value, value))
    for name, value in _defaults(el, helper).items():
        names.setdefault(name, value)
    wanted = [parameter.arg for parameter in (*positional, *spec.kwonlyargs)]
    missing = [name for name in wanted if name not in names]
    if wrong or missing:
        name = el.text(node.func)
        what = f"lacks {', '.join(missing)}" if missing else f"gets {_too_much(node, rest, known)}"
        el.report("STEP224", node, f"this call of {name} {what}", f"it takes {', '.join(wanted) or 'nothing'}")
        el.graph.complete = False
        return None
    return names, pairs


def _too_much(node: ast.Call, rest: list[Value], known: set[str]) -> str:
    unknown = [keyword.arg for keyword in node.keywords if keyword.arg is not None and keyword.arg not in known]
    if unknown:
        return ", ".join(unknown)
    return f"{few(len(rest), 'argument')} too many" if rest else "an argument twice"


def _defaults(el: Elaboration, helper: Helper) -> dict[str, Value]:
    """Return the values of a helper's defaults: those of the definition, which all calls share, as in Python.

    Helpers of a module are defined before the program begins, and their defaults evaluated at the first call.
    """
    known = el.defaults.get(helper)
    if known is not None:
        return known
    names = el.defaults[helper] = {}
    spec = helper.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [
        *zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True),
        *((p, d) for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None),
    ]
    outer = el.frame
    # A default stands in the helper's text and sees the names there, not those of the caller.
    el.frame = Frame(Scope({}, helper.scope), helper.code, outer.context)
    try:
        for parameter, default in pairs:
            names[parameter.arg] = el.evaluate(default)
    except OutOfBudget as error:
        raise error.at(el.span(el.at)) from None
    finally:
        el.frame = outer
    return names


def decorated_function(el: Elaboration, node: ast.FunctionDef) -> FnDecl | FnClass | None:
    """Return the element function that ``@step.fn(...)`` makes, or None for a plain helper."""
    made: FnDecl | FnClass | None = None
    for decorator in node.decorator_list:
        is_call = isinstance(decorator, ast.Call)
        before = len(el.diagnostics)
        callee = el.evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if is_call and made is None and isinstance(callee, TypeMaker) and callee.name == "fn":
            assert isinstance(decorator, ast.Call)
            made = functions.from_decorator(el, node, decorator)
        elif len(el.diagnostics) == before and callee is not UNKNOWN:
            el.report("STEP220", decorator, "this decorator is not part of the program language", "remove it")
            el.graph.complete = False
    return made
