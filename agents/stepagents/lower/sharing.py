"""Element functions that compute the same are written once: what differs are the names of their locals only."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from stepagents.lower.functions import Function

_PARTS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


def shared(functions: Iterable[Function]) -> dict[Function, Function]:
    """Return for each function the one that is written in its place.

    Functions of the same types, the same start and the same body up to the names of locals become one. Where their
    names differ, the parts of the input are called by their place, because no name is right for all.
    """
    groups: defaultdict[Hashable, dict[Function, None]] = defaultdict(dict)
    for function in functions:
        groups[_key(function)][function] = None
    chosen: dict[Function, Function] = {}
    for group in groups.values():
        first = next(iter(group))
        bodies = {function.body for function in group}
        written = first if len(bodies) == 1 else _neutral(first)
        chosen.update(dict.fromkeys(group, written))
    return chosen


@lru_cache(maxsize=4096)  # each plan of a function has most of them again
def _key(function: Function) -> Hashable:
    names = {name: f"local{number}" for number, name in enumerate(_locals(function.body))}
    tree = ast.parse(_renamed(function.body, names))
    return function.input, function.output, function.init, ast.dump(tree)


def _locals(body: str) -> list[str]:
    """Return the names that a body binds, in order of their first binding."""
    return list(dict.fromkeys(node.id for node in _names(body) if isinstance(node.ctx, ast.Store)))


def _neutral(function: Function) -> Function:
    """Return a function whose parts of the input are called by their place, where these names are free."""
    body = function.body
    match ast.parse(body).body[0]:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id="input")):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
        case _:
            names = []
    used = {node.id for node in _names(body)}
    free = _PARTS if len(names) <= len(_PARTS) else tuple(f"part{number}" for number in range(1, len(names) + 1))
    if used & {*free[: len(names)]}:
        return function
    return replace(function, body=_renamed(body, dict(zip(names, free, strict=False))))


def _names(body: str) -> list[ast.Name]:
    """Return the names in a body, in their order."""
    found = [node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _renamed(body: str, names: Mapping[str, str]) -> str:
    """Return a body with other names; attributes of the same names stay."""
    lines = [line.encode() for line in body.split("\n")]
    for node in reversed([node for node in _names(body) if node.id in names]):
        line = lines[node.lineno - 1]
        end = node.col_offset + len(node.id.encode())
        lines[node.lineno - 1] = line[: node.col_offset] + names[node.id].encode() + line[end:]
    return "\n".join(line.decode() for line in lines)
