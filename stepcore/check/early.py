"""Names that a program reads before it binds them, although something outside has the same name."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.early import read_early
from stepcore.fn.source import node_span
from stepcore.frontend.expressions import BUILTINS
from stepcore.frontend.values import Scope, Value
from stepcore.text.span import Embedded


def early_diagnostics(
    body: Sequence[ast.stmt], code: Embedded, scope: Scope, before: Mapping[str, Value], arguments: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield what Python would refuse as an UnboundLocalError; ``before`` are the names of the scope before the body.

    Elaboration finds the value from outside, and nearly no program has such a name, so no body is walked without one.
    """
    hiding = {name for name, value in scope.names.items() if _hides(name, value, scope, before)} - set(arguments)
    for node in read_early(body, hiding) if hiding else ():
        text = f"{node.id} has no value here: the program binds it, so it is the program's own name from the beginning"
        yield Diagnostic("STEP202", node_span(code, node), f"{text}; give what is bound another name")


def _hides(name: str, value: Value, scope: Scope, before: Mapping[str, Value]) -> bool:
    if name in before:
        return before[name] is not value
    if name in BUILTINS:
        return True
    outer = scope.parent
    return outer is not None and name in outer.names
