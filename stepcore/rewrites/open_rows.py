"""The types of functions with any number of rows in place of a fixed one, where a Python file or a task writes them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stepcore.check.rewriting import FreshNames, inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.records import Record
from stepcore.rewrites.statements import function_keyword, functions_of, times_read
from stepcore.rewrites.subject import RewriteSubject
from stepcore.sizes.dim import ANY
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Element, STuple, Tile

_ROWS: Final = re.compile(r"\bTile\(\s*\w+\s*,\s*\[\s*([^,\[\]]+?)\s*,")  # of a tile as a task writes it


class _Place(Record):
    """Where a number of rows is written: ``size`` in a call of Tile, and the statement that holds it.

    ``name`` is read in the place of the call where that stands behind a name.
    """

    size: ast.expr
    call: ast.Call
    holder: ast.stmt
    name: ast.Name | None


def with_open_rows(
    subject: RewriteSubject, functions: Mapping[str, Sequence[bool]], names: FreshNames
) -> list[Edit] | str:
    """Return the edits that let functions take tiles of any number of rows; else why they cannot be written.

    ``functions`` tells by name which inputs have rows; all that a function gives has some. A type with a name that
    other functions read, too, stays, and is written out where it has to be open.
    """
    if subject.result.task is not None:
        return _of_task(subject, functions, names.one("_ROWS"))
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return "the file cannot be read"
    values = dict(_bound(tree))
    places: list[_Place] = []
    for name, has_rows in functions.items():
        declared = functions_of(tree).get(name)
        given, made = (None if declared is None else function_keyword(declared, key) for key in ("input", "output"))
        if declared is None or given is None or made is None:
            return f"the types of {name} are not written at its declaration"
        wanted = [part for part, rows in zip(_parts(given), has_rows, strict=True) if rows]
        for part in (*wanted, *_parts(made)):
            place = _place_of(part, declared, values)
            if place is None:
                return f"how many rows the tiles of {name} have is not written as a list of two sizes"
            if not _is_open(place.size, values):
                places.append(place)
    reads = Counter(place.name.id for place in places if place.name is not None)
    shared = {name for name, count in reads.items() if times_read(subject, name) > count}
    return _opened(subject, code, places, shared, values, names) if places else []


def _opened(
    subject: RewriteSubject,
    code: Embedded,
    places: Sequence[_Place],
    shared: set[str],
    values: Mapping[str, tuple[ast.expr, ast.stmt]],
    names: FreshNames,
) -> list[Edit]:
    """Return the edits that write any size, by a name that there is, or that a new line binds."""

    def span(node: ast.expr) -> Span:
        return code.span_to_outer(inner_span(code, node))

    first = min((place.holder for place in places), key=lambda holder: holder.lineno)
    known = [name for name, (value, where) in values.items() if _is_any(value) and where.lineno < first.lineno]
    name = known[0] if known else names.one("ROWS")
    edits = []
    for place in places:
        size, call = span(place.size), span(place.call)
        if place.name is None or place.name.id not in shared:
            edits.append(Edit(size, name))
        else:
            text = subject.text[call.start : size.start] + name + subject.text[size.end : call.end]
            edits.append(Edit(span(place.name), text))
    if not known:
        start = _start_of(first, code)
        line = f'{name} = {subject.module}any_size("{name}")  # as many as there are{code.newline}'
        edits.append(Edit(Span(start, start), line))
    return edits


def _of_task(subject: RewriteSubject, functions: Mapping[str, Sequence[bool]], name: str) -> list[Edit] | str:
    """Return the edits under ``fns`` of a task, whose types stand as text of their own for each function."""
    declared = {each.func_name: each for each in subject.checked.spec.fns}
    edits: list[Edit] = []
    for function, has_rows in functions.items():
        fn = declared.get(function)
        if fn is None:
            return f"the types of {function} are not written under fns"
        for kind, span, wanted in ((fn.input, fn.input_span, has_rows), (fn.output, fn.output_span, None)):
            parts = kind.items if isinstance(kind, STuple) else (kind,)
            places = [*_ROWS.finditer(subject.text, span.start, span.end)]
            if len(places) != sum(map(_tiles, parts)) or any(_tiles(part) > 1 for part in parts):
                return f"how many rows the tiles of {function} have is not written as a list of two sizes"
            found = iter(places)
            for number, part in enumerate(parts):
                place = next(found) if _tiles(part) else None
                if wanted is not None and not wanted[number]:
                    continue
                if place is None or not isinstance(part, Tile):
                    return f"what {function} takes or gives is no tile"
                if not place[1].startswith(ANY):
                    edits.append(Edit(Span(*place.span(1)), name))
    return edits


def _tiles(element: Element) -> int:
    """Return how many types of tiles are written in one type."""
    match element:
        case Tile():
            return 1
        case Buffer(element=Tile()):
            return 1
        case STuple(items=items):
            return sum(map(_tiles, items))
    return 0


def _bound(tree: ast.Module) -> Iterator[tuple[str, tuple[ast.expr, ast.stmt]]]:
    """Yield the names that the file binds at its level once, with what they stand for."""
    found: dict[str, list[tuple[ast.expr, ast.stmt]]] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append((value, node))
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                for target, value in zip(names, values, strict=True):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append((value, node))
    for name, bound in found.items():
        if len(bound) == 1:
            yield name, bound[0]


def _parts(written: ast.expr) -> list[ast.expr]:
    return list(written.elts) if isinstance(written, ast.Tuple) else [written]


def _place_of(part: ast.expr, holder: ast.stmt, values: Mapping[str, tuple[ast.expr, ast.stmt]]) -> _Place | None:
    """Return where the number of rows of a tile is written; None where that is no list of two sizes."""
    name = part if isinstance(part, ast.Name) and part.id in values else None
    if name is not None:
        part, holder = values[name.id]
    match part:
        case ast.Call(func=func, args=[_, ast.List(elts=[size, _]) | ast.Tuple(elts=[size, _])]):
            called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return _Place(size, part, holder, name) if called == "Tile" else None
    return None


def _is_open(size: ast.expr, values: Mapping[str, tuple[ast.expr, ast.stmt]]) -> bool:
    return _is_any(values[size.id][0] if isinstance(size, ast.Name) and size.id in values else size)


def _is_any(value: ast.expr) -> bool:
    """Whether an expression is ``step.any_size(...)``."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "any_size"


def _start_of(statement: ast.stmt, code: Embedded) -> int:
    """Return where the first line of a statement at the level of the file begins."""
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    place = code.span_to_outer(inner_span(code, decorators[0] if decorators else statement)).start
    return place - 1 if decorators else place
