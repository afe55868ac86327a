"""What is not part of the program language, and its name in messages."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.frontend.expressions.comprehensions import evaluate_comprehension
from stepcore.frontend.values import UNKNOWN, Value
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


# How the nodes are written whose class names differ from that.
_WORDS = {
    ast.ImportFrom: "import", ast.ClassDef: "class", ast.Delete: "del", ast.AsyncFunctionDef: "async",
    ast.AsyncFor: "async", ast.AsyncWith: "async", ast.YieldFrom: "yield", ast.SetComp: "set", ast.DictComp: "dict",
    ast.TryStar: "try",
}  # fmt: skip


def word_of(node: ast.AST) -> str:
    """Return the word with which people write a statement or expression."""
    return _WORDS.get(type(node), type(node).__name__.lower())


def refuse(el: Elaboration, node: ast.expr) -> Value:
    """Report an expression that programs may not use; scripts may, and what becomes of streams in it is followed."""
    if el.prints:
        return _of_python(el, node)
    what = word_of(node)
    el.report("STEP220", node, f"`{what}` is not part of the program language", "write it with lists and calls")
    el.graph.complete = False
    el.suppress_unused = True
    return UNKNOWN


def _of_python(el: Elaboration, node: ast.expr) -> Value:
    """Return the value of an expression that only scripts use: of comprehensions, and of what others are made of."""
    el.suppress_unused = True
    match node:
        case ast.DictComp():
            pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node.value)
            pairs = evaluate_comprehension(el, ast.copy_location(ast.ListComp(pair, node.generators), node))
            if isinstance(pairs, list) and all(isinstance(key, str | int | Dim) for key, _ in pairs):
                return dict(pairs)
            el.gives_away([pairs] if isinstance(pairs, list) else None)
        case ast.SetComp():
            el.gives_away(
                [evaluate_comprehension(el, ast.copy_location(ast.ListComp(node.elt, node.generators), node))]
            )
        case _:
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            el.gives_away([el.evaluate(part) for part in parts])
    return UNKNOWN
