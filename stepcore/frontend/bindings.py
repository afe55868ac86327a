"""Which names statements bind: one at the top level of a file, whatever it is nested in, and those of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stepcore.fn.prelude import assigned_names


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a top-level statement binds; ``*`` for a star import."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from _imported(statement)
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from _imported(node)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                yield node.name
            elif isinstance(node, ast.MatchMapping) and node.rest:
                yield node.rest


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    for alias in statement.names:
        yield alias.asname or alias.name.partition(".")[0]


def imported_names(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds, each with what it is by its full name."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            yield alias.asname or alias.name, f"{statement.module or ''}.{alias.name}"
        else:
            top = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (top, top)


def bound_in(body: Sequence[ast.stmt], text: str) -> frozenset[str]:
    """Return the names that a function binds, whose body stands in ``text``.

    Programs have thousands of expressions, and only a text with ``:=`` binds names in some: no other is walked through.
    """
    if ":=" in text:
        return assigned_names(list(body))
    names: set[str] = set()
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        if type(node) is ast.Name:  # these two are nearly all, and patterns take three times as long
            names.add(node.id)
            continue
        if type(node) is ast.Assign:
            pending += node.targets
            continue
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                pending.append(target)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pending += parts
            case ast.Starred(value=part):
                pending.append(part)
            case ast.For(target=target, body=inner, orelse=orelse):
                pending += [target, *inner, *orelse]
            case ast.If(body=inner, orelse=orelse) | ast.While(body=inner, orelse=orelse):
                pending += [*inner, *orelse]
            case ast.Return() | ast.Expr() | ast.Subscript() | ast.Attribute():
                pass
            case ast.stmt():  # what is refused where it is met
                names |= assigned_names([node])
    return frozenset(names)
