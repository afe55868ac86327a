"""Other tile sizes: where a file binds the size of its tiles to a name, another number is the whole rewrite.

Side condition: data, parameters and results stay the same numbers. What is drawn is compared
(:func:`stepcore.rewrites.applied`); the reference may read such a name only in the `reshape` or `view` that it returns,
which gives the same numbers in the same order whatever the sizes are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.records import Record
from stepcore.rewrites.statements import functions_of
from stepcore.rewrites.subject import HOW, RewriteSite, RewriteSubject
from stepcore.text.span import Embedded, Span

_LARGEST: Final = 1 << 20
_PLACES: Final = ("rows", "columns")


class TileSizes(Record):
    """Double or halve a number that a Python file names and uses as a size of tiles."""

    name: str = "tile-sizes"
    summary: str = "tiles of other sizes, where the file names them"
    timed: bool = False

    def sites(self, subject: RewriteSubject) -> Iterator[RewriteSite]:
        """Yield the double and the half of each named size."""
        code, tree = subject.code, subject.tree
        if subject.result.module is None or code is None or tree is None:
            return
        used = _uses(tree)
        for name, value, span in named_numbers(tree, code):
            if name in used and not _changes_reference(tree, name, subject.checked.spec.reference):
                for other in (2 * value, value // 2):
                    if 0 < other <= _LARGEST and other != value and (other * 2 == value or other == 2 * value):
                        sentence = f"{used[name]} in tiles of {other} ({name} was {value})"
                        how = f"{used[name]} {'doubled' if other > value else 'halved'}"
                        params = ((name, str(other)), (HOW, how))
                        yield RewriteSite(self.name, sentence, (Edit(span, str(other)),), params, retiles=True)


def named_numbers(tree: ast.Module, code: Embedded) -> Iterator[tuple[str, int, Span]]:
    """Yield names that the file binds once, to a positive number that is written out: value and place."""
    found: dict[str, list[tuple[int, Span] | None]] = {}
    for node in tree.body:
        for target, value in _bindings(node):
            number = value.value if isinstance(value, ast.Constant) and type(value.value) is int else 0
            place = (number, inner_span(code, value)) if number > 0 and value is not None else None
            found.setdefault(target, []).append(place)
    for name, places in found.items():
        if len(places) == 1 and places[0] is not None:
            yield name, *places[0]


def _bindings(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            for target, value in zip(names, values, strict=True):
                if isinstance(target, ast.Name):
                    yield target.id, value
        case _:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id, None


def _uses(tree: ast.Module) -> dict[str, str]:
    """Return the names that stand for sizes of tiles, and of what: rows, columns or both."""
    places: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        for tile in _tiles(node):
            for place, size in enumerate(tile.elts):
                if isinstance(size, ast.Name):
                    places.setdefault(size.id, set()).add(place)
    return {
        name: " and ".join(_PLACES[place] for place in sorted(found) if place < 2) for name, found in places.items()
    }


def _tiles(node: ast.AST) -> Iterator[ast.List | ast.Tuple]:
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [keyword.value for keyword in node.keywords if keyword.arg == "tile"]
    for value in [*given, *(node.args if name == "Tile" else [])]:
        if isinstance(value, ast.List | ast.Tuple):
            yield value


def _changes_reference(tree: ast.Module, name: str, reference: str | None) -> bool:
    """Whether the numbers that a reference gives, or their order, may follow ``name``."""
    functions = functions_of(tree)
    values = {target: value for node in tree.body for target, value in _bindings(node)}
    if reference is None or reference not in functions:
        return reference is not None
    returned = _last_reshape(functions[reference])
    inside = {id(part) for call in returned for argument in call.args for part in ast.walk(argument)}
    seen: set[str] = set()
    todo: list[ast.AST] = [functions[reference]]
    while todo:
        for part in ast.walk(todo.pop()):
            if not isinstance(part, ast.Name) or id(part) in inside or part.id in seen:
                continue
            if part.id == name:
                return True
            seen.add(part.id)
            todo += [each for each in (functions.get(part.id), values.get(part.id)) if each is not None]
    return False


def _last_reshape(function: ast.FunctionDef) -> list[ast.Call]:
    """Return the calls of `reshape` and `view` whose result a function returns as it is."""
    found = []
    for node in ast.walk(function):
        match node:
            case ast.Return(value=ast.Call(func=ast.Attribute(attr="reshape" | "view")) as call):
                found.append(call)
    return found
