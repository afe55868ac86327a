"""What a failing line wanted to be equal: shapes in an assertion, a size and the end of a loop over it.

Both are read in the frame that failed, without running anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Final, TypeAlias

from torch import Tensor

_OUTSIDE: Final = re.compile(r"index (\d+) is out of bounds for dimension \d+ with size (\d+)")
_FARTHEST: Final = 8  # of an index from the variable of its loop
_LOOPS: Final = (ast.For, ast.ListComp, ast.GeneratorExp)
Sizes: TypeAlias = tuple[int, ...]
_Value: TypeAlias = int | Sizes


def statements(tree: ast.AST) -> list[ast.AST]:
    """Return the assertions, conditions and loops of a file, the outermost first: all that is read here."""
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Assert, ast.If, *_LOOPS))]


def wanted_equal(nodes: Sequence[ast.AST], frame: FrameType | None, line: int) -> list[tuple[Sizes, Sizes]]:
    """Return the pairs of shapes that are compared in line ``line`` and differ; a size is a shape of one.

    Args:
        nodes: the :func:`statements` of the file.
        frame: the frame that failed, with the values of its variables.
        line: of an assertion, or of what is raised where sizes are unequal.
    """
    if frame is None:
        return []
    values = {**frame.f_globals, **frame.f_locals}
    found: list[tuple[Sizes, Sizes]] = []
    for test, wanted in _tests(nodes, line):
        for left, right in _comparisons(test, wanted):
            one, other = _value(left, values), _value(right, values)
            if one is None or other is None or isinstance(one, int) != isinstance(other, int):
                continue
            first = (one,) if isinstance(one, int) else one
            second = (other,) if isinstance(other, int) else other
            if first != second and len(first) == len(second):
                found.append((first, second))
    return found


def reached(nodes: Sequence[ast.AST], frame: FrameType | None, line: int, message: str) -> list[tuple[Sizes, Sizes]]:
    """Return the size that an index ran out of, and what it has to be for the loop around line ``line`` to end."""
    outside = _OUTSIDE.search(message)
    if frame is None or outside is None:
        return []
    outer = frame.f_back if frame.f_code.co_name.startswith("<") else None  # a comprehension
    values = {**frame.f_globals, **(outer.f_locals if outer is not None else {}), **frame.f_locals}
    index, size = int(outside[1]), int(outside[2])
    found: list[tuple[Sizes, Sizes]] = []
    for target, counted in _loops(nodes, line):
        end = _end(counted, values)
        now = values.get(target.id) if isinstance(target, ast.Name) else None
        if end is not None and type(now) is int and abs(index - now) <= _FARTHEST and end + index - now > 0:
            found.append(((size,), (end + index - now,)))
    return found[::-1]  # the innermost first


def _loops(nodes: Sequence[ast.AST], line: int) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the variables of the loops around a line, and what they run over; the outermost first."""
    for node in nodes:
        if isinstance(node, _LOOPS) and _holds(node, line):
            for loop in [node] if isinstance(node, ast.For) else node.generators:
                yield loop.target, loop.iter


def _end(node: ast.expr, values: Mapping[str, object]) -> int | None:
    """Return what ``range(end)`` or ``reversed(range(start, end))`` counts to."""
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            return _end(inner, values)
        case ast.Call(func=ast.Name(id="range"), args=[end] | [_, end]):
            value = _value(end, values)
            return value if isinstance(value, int) else None
    return None


def _holds(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether a line is one of those of a node."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _tests(nodes: Sequence[ast.AST], line: int) -> Iterator[tuple[ast.expr, type[ast.cmpop]]]:
    for node in nodes:
        if isinstance(node, ast.Assert) and _holds(node, line):
            yield node.test, ast.Eq
        elif isinstance(node, ast.If) and any(isinstance(item, ast.Raise) and _holds(item, line) for item in node.body):
            yield node.test, ast.NotEq


def _comparisons(test: ast.expr, wanted: type[ast.cmpop]) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            terms = [node.left, *node.comparators]
            for operator, left, right in zip(node.ops, terms, terms[1:], strict=False):
                if isinstance(operator, wanted):
                    yield left, right


def _value(node: ast.expr, values: Mapping[str, object]) -> _Value | None:
    match node:
        case ast.Constant(value=int() as value):
            return int(value)
        case ast.Name(id=name):
            return _known(values.get(name))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return _known(getattr(values.get("self"), "__dict__", {}).get(name))
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim" as attribute):
            return _looked(values.get(name), attribute, None)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size" | "dim" as attribute), args=arguments):
            axis = _value(arguments[0], values) if arguments else None
            return _looked(values.get(name), attribute, axis) if not arguments or isinstance(axis, int) else None
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return _looked(values.get(name), "size", 0)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _value(operand, values)
            return -number if isinstance(number, int) else None
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return _listed(items, values)
        case ast.Subscript(value=owner, slice=index):
            return _part(_value(owner, values), index, values)
        case ast.BinOp(left=left, op=operator, right=right):
            return _computed(_value(left, values), operator, _value(right, values))
    return None


def _known(value: object) -> _Value | None:
    if type(value) is int:
        return value
    is_shape = isinstance(value, (tuple, list)) and all(type(item) is int for item in value)
    return tuple(value) if is_shape and isinstance(value, (tuple, list)) else None


def _looked(tensor: object, attribute: str, axis: int | Sizes | None) -> _Value | None:
    if not isinstance(tensor, Tensor):
        return None
    shape = tuple(tensor.shape)
    if attribute in {"ndim", "dim"}:
        return len(shape)
    if isinstance(axis, int):
        return shape[axis] if -len(shape) <= axis < len(shape) else None
    return shape


def _listed(items: Sequence[ast.expr], values: Mapping[str, object]) -> Sizes | None:
    found: list[int] = []
    for item in items:
        value = _value(item.value if isinstance(item, ast.Starred) else item, values)
        if value is None or isinstance(value, int) == isinstance(item, ast.Starred):
            return None
        found += [value] if isinstance(value, int) else value
    return tuple(found)


def _part(owner: _Value | None, index: ast.expr, values: Mapping[str, object]) -> _Value | None:
    if not isinstance(owner, tuple):
        return None
    if isinstance(index, ast.Slice):
        bounds = [None if bound is None else _value(bound, values) for bound in (index.lower, index.upper)]
        is_plain = index.step is None and not any(isinstance(bound, tuple) for bound in bounds)
        lower, upper = (bound if isinstance(bound, int) else None for bound in bounds)
        unknown = (index.lower is not None and lower is None) or (index.upper is not None and upper is None)
        return owner[lower:upper] if is_plain and not unknown else None
    place = _value(index, values)
    return owner[place] if isinstance(place, int) and -len(owner) <= place < len(owner) else None


def _computed(left: _Value | None, operator: ast.operator, right: _Value | None) -> _Value | None:
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(operator, ast.Add):
        return left + right
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
    return None
