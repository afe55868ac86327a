"""Sizes of tiles as a Python file writes them: numbers with a name, and numbers that stand wherever they are meant.

No read may count tiles by a number: it would read something else. Of a size without a name it must be plain what it
counts: in the program, its helpers and the types of functions it stands as rows or columns of tiles, behind ``//`` (how
many tiles there are) or as ``S`` of Reshape, nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.records import Record
from stepcore.rewrites.statements import functions_of
from stepcore.text.span import Embedded, Span

_PLACES: Final = ("rows", "columns")
_COUNTS: Final = ("shape", "stride", "base")  # parameters of reads that count tiles
_DATA: Final = ("dims", "data", "sizes", "layouts")  # of a program: what it is run with


class SizeLiteral(Record):
    """A size of tiles: its value, where that is written, and what it is ``used`` for; ``name`` is empty without one."""

    name: str
    value: int
    places: tuple[Span, ...]
    used: str

    def is_written_as(self, node: ast.AST) -> bool:
        """Whether a part of the file is this size."""
        return _is_name(node, self.name) if self.name else _is_number(node, self.value)


def written_sizes(tree: ast.Module, code: Embedded, program: str, reference: str | None) -> Iterator[SizeLiteral]:
    """Yield the sizes of tiles that may be other ones, those with names first."""
    scope = list(_scope(tree, program, reference))
    counts, divisors = _counted(scope)
    if counts:
        return
    used = _uses(tree)
    named = [
        SizeLiteral(name, value, (place,), used[name])
        for name, value, place in named_numbers(tree, code)
        if name in used and value not in divisors
    ]
    last = [] if reference is None else _last_reshapes(functions_of(tree).get(reference))
    plain = []
    for value, uses in _numbers(scope).items():
        inside = [node for call in last for argument in call.args for node in _numbered(argument, value)]
        if found := _plain(scope, value):
            places = sorted(inner_span(code, node) for node in (*found, *inside))
            plain.append(SizeLiteral("", value, tuple(places), uses))
    for size in (*named, *plain):
        if not _is_in_reference(tree, size, reference):
            yield size


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
    for place, size in _elements(ast.walk(tree)):
        if isinstance(size, ast.Name):
            places.setdefault(size.id, set()).add(place)
    return {name: _told(found) for name, found in places.items()}


def _numbers(scope: Iterable[ast.AST]) -> dict[int, str]:
    """Return the numbers that stand for sizes of tiles, in their order in the text, and of what."""
    places: dict[int, set[int]] = {}
    for place, size in _elements(node for part in scope for node in ast.walk(part)):
        if isinstance(size, ast.Constant) and type(size.value) is int and size.value > 1:
            places.setdefault(size.value, set()).add(place)
    return {value: _told(found) for value, found in places.items()}


def _elements(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, ast.expr]]:
    for node in nodes:
        for tile in _tiles(node):
            yield from enumerate(tile.elts)


def _told(places: set[int]) -> str:
    return " and ".join(_PLACES[place] for place in sorted(places) if place < 2)


def _scope(tree: ast.Module, program: str, reference: str | None) -> Iterator[ast.AST]:
    """Yield what sizes of tiles stand in: statements, helpers, the program, and the types of element functions."""
    apart = _read_by(tree, reference)
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            yield statement
        elif statement.name == program:
            calls = [each for each in statement.decorator_list if isinstance(each, ast.Call)]
            yield from (keyword.value for call in calls for keyword in call.keywords if keyword.arg not in _DATA)
            yield from (statement.args, *statement.body, *([statement.returns] if statement.returns else []))
        elif statement.decorator_list:
            yield from statement.decorator_list
        elif statement.name not in apart:
            yield statement


def _plain(scope: Iterable[ast.AST], value: int) -> list[ast.expr]:
    """Return where a number counts rows or columns of tiles; nothing where it counts anything else as well."""
    found: list[ast.expr] = []
    allowed: set[int] = set()
    for part in scope:
        for node in ast.walk(part):
            sizes: list[ast.expr] = [size for _, size in _elements([node])]
            match node:
                case ast.BinOp(op=ast.FloorDiv(), right=right):
                    sizes.append(right)
                case ast.keyword(arg="S", value=size):
                    sizes.append(size)
            allowed |= {id(size) for size in sizes if _is_number(size, value)}
            found += _numbered(node, value) if _is_number(node, value) else []
    return found if all(id(node) in allowed for node in found) else []


def _counted(scope: Iterable[ast.AST]) -> tuple[set[int], set[int]]:
    """Return the numbers by which reads count tiles, 0 and 1 left out, and those by which counts are divided."""
    keywords = (node for part in scope for node in ast.walk(part) if isinstance(node, ast.keyword))
    nodes = [node for keyword in keywords if keyword.arg in _COUNTS for node in ast.walk(keyword.value)]
    divisors = [node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)]
    apart = {id(node) for node in divisors}
    counts = [node for node in nodes if id(node) not in apart]
    found = ({each.value for each in some if isinstance(each, ast.Constant)} for some in (counts, divisors))
    numbers, dividing = ({value for value in some if type(value) is int} for some in found)
    return numbers - {0, 1}, dividing


def _numbered(part: ast.AST, value: int) -> list[ast.expr]:
    return [node for node in ast.walk(part) if isinstance(node, ast.expr) and _is_number(node, value)]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_number(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value


def _tiles(node: ast.AST) -> Iterator[ast.List | ast.Tuple]:
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [keyword.value for keyword in node.keywords if keyword.arg == "tile"]
    for value in [*given, *(node.args if name == "Tile" else [])]:
        if isinstance(value, ast.List | ast.Tuple):
            yield value


def _is_in_reference(tree: ast.Module, size: SizeLiteral, reference: str | None) -> bool:
    """Whether the numbers that a reference gives, or their order, may follow a size."""
    functions = functions_of(tree)
    if reference is None or reference not in functions:
        return reference is not None
    inside = _retiled(functions[reference])
    parts = (part for read in _read_by(tree, reference).values() for part in ast.walk(read) if id(part) not in inside)
    return any(size.is_written_as(part) for part in parts)


def _read_by(tree: ast.Module, reference: str | None) -> dict[str, ast.AST]:
    """Return a reference and all functions and values of the file that it reads, by their names."""
    functions = functions_of(tree)
    values = {target: value for node in tree.body for target, value in _bindings(node) if value is not None}
    known: dict[str, ast.AST] = {**values, **functions}
    inside = _retiled(functions.get(reference or ""))
    found: dict[str, ast.AST] = {}
    todo = [] if reference is None else [reference]
    while todo:
        name = todo.pop()
        if name in found or name not in known:
            continue
        found[name] = known[name]
        nodes = (part for part in ast.walk(known[name]) if isinstance(part, ast.Name) and id(part) not in inside)
        todo += [part.id for part in nodes]
    return found


def _retiled(function: ast.FunctionDef | None) -> set[int]:
    """Return the nodes that a function reads only to shape what it returns."""
    arguments = (argument for call in _last_reshapes(function) for argument in call.args)
    return {id(part) for argument in arguments for part in ast.walk(argument)}


def _last_reshapes(function: ast.FunctionDef | None) -> list[ast.Call]:
    """Return the calls of `reshape` and `view` whose result a function returns as it is."""
    found = []
    for node in () if function is None else ast.walk(function):
        match node:
            case ast.Return(value=ast.Call(func=ast.Attribute(attr="reshape" | "view")) as call):
                found.append(call)
    return found
