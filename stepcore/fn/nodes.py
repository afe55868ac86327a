"""The parts of syntax nodes in which names may stand, found faster than by :func:`ast.walk`.

Files are walked through for every keystroke, and most of what ``ast.iter_child_nodes`` yields are operators, contexts
and texts. What a kind of node may hold is in its fields, so these are looked up once for each kind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

Called: TypeAlias = ast.FunctionDef | ast.Lambda

# Fields of operators, of contexts and of what is written as a text or a number.
_OTHER: Final = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "names", "module", "level", "kind", "conversion"}
    | {"type_comment", "simple", "is_async", "rest", "kwd_attrs", "type_ignores"}
)
_WITHOUT: Final = (ast.Constant, ast.MatchSingleton, ast.alias)


def _kinds(base: type[ast.AST]) -> Iterable[type[ast.AST]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    kind: tuple(name for name in kind._fields if name not in _OTHER)
    for kind in _kinds(ast.AST)
    if not issubclass(kind, _WITHOUT)
}


def parts_of(node: ast.AST) -> list[Any]:
    """Return the nodes in ``node`` that may be, or hold, names, in the order of the fields; None where one is empty."""
    found: list[Any] = []
    for name in _FIELDS.get(type(node), ()):
        part = getattr(node, name, None)
        if type(part) is list:
            found += part
        else:
            found.append(part)
    return found


def slice_of(node: ast.Slice, number: Callable[[ast.expr], int | None]) -> slice | None:
    """Return the slice that a node writes, its edges as ``number`` has them; None where one is not known."""
    edges: list[int | None] = []
    for edge in (node.lower, node.upper, node.step):
        edges.append(None if edge is None else number(edge))
        if edge is not None and edges[-1] is None:
            return None
    return None if edges[2] == 0 else slice(*edges)  # a step of 0 is refused by a run


def names_and_functions(nodes: Iterable[ast.AST]) -> tuple[list[ast.Name], list[Called]]:
    """Return all names that stand in some nodes, and all functions, each with what stands in it."""
    names: list[ast.Name] = []
    functions: list[Called] = []
    pending: list[Any] = [*nodes]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            names.append(node)
            continue
        if kind is ast.FunctionDef or kind is ast.Lambda:
            functions.append(node)
        for name in _FIELDS.get(kind, ()):
            part = getattr(node, name, None)
            if type(part) is list:
                pending += part
            elif part is not None:
                pending.append(part)
    return names, functions


def loaded_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that some nodes read."""
    return {node.id for node in names_and_functions(nodes)[0] if type(node.ctx) is ast.Load}


def argument_names(args: ast.arguments) -> list[str]:
    """Return the names of all arguments of a function."""
    starred = [each for each in (args.vararg, args.kwarg) if each is not None]
    return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, *starred)]
