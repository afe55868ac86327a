"""The edit that sets a parameter of an operator, such as ``depth=``, whatever else is written there."""

from __future__ import annotations

import ast
import re
from typing import Final

from stepcore.check.rewriting import NoFix, inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.frontend.elaboration import Elaboration
from stepcore.ops.base import DEPTH
from stepcore.text.span import Embedded, Span

_LONGEST: Final = 4000  # characters of a call that is rewritten
_MOST: Final = 64  # closing brackets in it
_CLOSING: Final = re.compile(r"\)")


def depth_edit(text: str, operator: Span, depth: str) -> Edit:
    """Return what makes the call of ``operator``, whose name stands there in ``text``, one with ``depth=depth``.

    Raises:
        NoFix: see :func:`parameter_edit`.
    """
    return parameter_edit(text, operator, DEPTH.name, depth)


def parameter_edit(text: str, operator: Span, name: str, value: str) -> Edit:
    """Return what makes the call of ``operator``, whose name stands there in ``text``, one with ``name=value``.

    Raises:
        NoFix: no call stands there, or it is too long to be rewritten.
    """
    code = Embedded.whole(text[operator.start : operator.start + _LONGEST])
    call = _call(code.text, operator.end - operator.start)

    def place(node: ast.expr | ast.keyword) -> Span:
        found = inner_span(code, node)
        return Span(operator.start + found.start, operator.start + found.end)

    given = next((keyword for keyword in call.keywords if keyword.arg == name), None)
    if given is not None:
        return Edit(place(given.value), value)
    given_all: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    end = max((place(item).end for item in given_all), default=None)
    if end is None:
        before = place(call).end - 1
        return Edit(Span(before, before), f"{name}={value}")
    return Edit(Span(end, end), f", {name}={value}")


def call_edit(el: Elaboration, operator: Span, name: str, value: str) -> Edit:
    """Return the same for an operator of a program, wherever in its texts it is called.

    Raises:
        NoFix: it is called in none of them, or see :func:`parameter_edit`.
    """
    for code in {id(use.context.code): use.context.code for use in el.uses}.values():
        inside = _inside(code, operator)
        if inside is not None:
            edit = parameter_edit(code.text, inside, name, value)
            return Edit(code.span_to_outer(edit.span), edit.text)
    raise NoFix


def _inside(code: Embedded, span: Span) -> Span | None:
    """Return where ``span`` of the file stands in an embedded text; None where it does not."""
    start = code.to_inner(span.start)
    if start is None:
        return None
    found = Span(start, start + span.end - span.start)
    return found if code.span_to_outer(found) == span else None


def _call(text: str, name: int) -> ast.Call:
    """Return the call at the start of ``text``, of which the first ``name`` characters are what is called."""
    for number, bracket in enumerate(_CLOSING.finditer(text[name:])):
        if number == _MOST:
            break
        try:
            node = ast.parse(text[: name + bracket.end()], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == text[:name]:
            return node
        break
    raise NoFix
