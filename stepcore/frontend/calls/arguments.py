"""The arguments of calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.frontend import sequences
from stepcore.frontend.values import Value

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def arguments_of(el: Elaboration, node: ast.Call, *, keep_lambdas: bool) -> list[Value] | None:
    """Evaluate all arguments; None when a starred one cannot be taken apart.

    A lambda that is given to something forbidden is part of that mistake.
    """
    given = [arg for arg in node.args if keep_lambdas or not isinstance(arg, ast.Lambda)]
    args = sequences.items_of(el, given)
    for keyword in node.keywords:
        if not keep_lambdas and isinstance(keyword.value, ast.Lambda):
            continue
        value = el.evaluate(keyword.value)
        if args is not None and keyword.arg != "strict":
            args.append(value)
    return args
