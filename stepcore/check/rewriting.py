"""Programs as text that is rewritten: fresh names, the text of expressions, and what may be moved about in it."""

from __future__ import annotations

import ast
import re
from itertools import count, islice
from typing import Final

from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.values import OperatorRef
from stepcore.ops.dialect import Dialect
from stepcore.text.span import Embedded, Span

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_PURE: Final = (
    ast.Constant, ast.List, ast.Name, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.expr_context, ast.unaryop,
)  # fmt: skip


class NoFix(Exception):
    """No edit can be offered for this finding."""


def operator_text(el: Elaborator, operator: str) -> str:
    """Return how the program has to spell an operator, or raise :class:`NoFix` where it cannot be reached."""
    if el.op_module:
        return f"{el.op_module}.{operator}"
    scope = el.frame.scope
    for name in scope.visible():
        value = scope.find(name)
        if isinstance(value, OperatorRef) and value.name == operator:
            return name
    raise NoFix


class FreshNames:
    """Names that nothing in a text uses yet; shared by all fixes of one check so that they can be combined."""

    def __init__(self, text: str) -> None:
        self._taken = set(_IDENTIFIER.findall(text))

    def make(self, base: str, number: int) -> list[str]:
        """Return so many names that begin with ``base`` and end with a number."""
        names = (f"{base}_{suffix}" for suffix in count(1))
        made = list(islice((name for name in names if name not in self._taken), number))
        self._taken.update(made)
        return made

    def one(self, base: str) -> str:
        """Return one name that begins with ``base`` and ends with a number."""
        return self.make(base, 1)[0]


class Replay(FreshNames):
    """Gives all visits of one text (the rounds of a loop, the calls of a helper) the same names, in the same order."""

    def __init__(self, names: FreshNames, made: list[list[str]]) -> None:
        self._names = names
        self._made = made
        self._earlier = list(made)

    def make(self, base: str, number: int) -> list[str]:
        """Return what an earlier visit got; raise :class:`NoFix` if that does not do for this one."""
        if not self._earlier:
            self._made.append(self._names.make(base, number))
            return self._made[-1]
        names = self._earlier.pop(0)
        if len(names) != number:
            raise NoFix  # one text, two meanings (a loop whose rounds differ)
        return names


def inner_span(code: Embedded, node: ast.expr | ast.keyword | ast.stmt) -> Span:
    """Return where a node stands in the embedded text (:func:`node_span` says where in the file)."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    start = code.inner.offset_from_utf8(node.lineno - 1, node.col_offset)
    return Span(start, code.inner.offset_from_utf8(node.end_lineno - 1, node.end_col_offset))


def text_before(code: Embedded, statement: ast.stmt) -> str:
    """Return what stands before a statement on its line: its indentation, unless it follows a colon or semicolon."""
    end = inner_span(code, statement).start
    return code.text[code.inner.offset(statement.lineno - 1, 0) : end]


def enclosed(code: Embedded, node: ast.expr) -> str:
    """Return the text of an expression on one line, with the parentheses that a tuple may have been written without."""
    text = code.inner.slice(inner_span(code, node))
    if "\n" in text or "\r" in text:
        return ast.unparse(node)
    match ast.parse(f"_{text}").body:
        case [ast.Expr(value=ast.Tuple())]:
            return f"({text})"
    return text


def is_pure(node: ast.expr) -> bool:
    """Return whether an expression may be evaluated again, later or not at all without any difference."""
    return all(isinstance(part, _PURE) for part in ast.walk(node))


def only_applies(statement: ast.stmt, dialect: Dialect) -> bool:
    """Return whether all names mean before ``statement`` what they mean in it: it binds nothing and changes no list."""
    return not any(_may_act(node, dialect) for node in ast.walk(statement))


def _may_act(node: ast.AST, dialect: Dialect) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name != "apply" and name not in dialect.by_name
    return isinstance(node, ast.Call | ast.If | ast.NamedExpr)


def base_name(text: str) -> str:
    """Return a readable beginning for fresh names."""
    base = re.sub(r"\W+", "_", text).strip("_")
    return base if base.isidentifier() else "S"


def stem(names: list[str]) -> str:
    """Return what fresh names begin with."""
    first, *_ = names
    return first.rpartition("_")[0]
