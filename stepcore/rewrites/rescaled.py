"""The function of an online fold: a greatest value, and sums that are scaled again whenever it grows.

What is summed is read off the functions of the two passes that there were: each summand follows ``exp(x - top)`` in
proportion, so a sum up to here fits a new greatest value once it is multiplied by ``exp(old - new)`` (Milakov and
Gimelshein 2018, "Online normalizer calculation for softmax"). No exponent is above zero on the way, as none was before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count
from typing import Final

from stepcore.records import Record
from stepcore.rewrites.functions import NewFunction, WrittenFunction, replaced
from stepcore.sizes.dim import Dim
from stepcore.types import Shape

_EXPONENTIALS: Final = ("exp", "exp2")
_GREATEST: Final = ("amax", "max")
_INNERMOST: Final = ("1", "-1")
_LONGEST: Final = 2000  # characters of an expression
_X, _TOP, _MADE, _WEIGHT = "element__", "top__", "made__", "weight__"  # what stands for reads while they are compared


class TwoPasses(Record):
    """The functions of a fold for the greatest value, of the Map that uses it, and of the fold of what that makes.

    The Map reads the elements at ``of`` and the greatest value at ``by``; the last fold reads its result at ``at``.
    ``element`` and ``greatest`` are the shapes of one element and of the greatest value, outermost size first.
    """

    top: WrittenFunction
    shifted: WrittenFunction
    total: WrittenFunction
    of: int
    by: int
    at: int
    element: Shape
    greatest: Shape


def rescaled(passes: TwoPasses, name: str) -> NewFunction | None:
    """Return the function ``name`` that folds both in one pass; None where sums cannot be scaled again.

    It reads what the last fold read, elements in place of what the Map made of them, and gives the greatest value
    and then what the last fold gave.
    """
    top, total = passes.top, passes.total
    greatest, shifted = _greatest(top), _shifted(passes)
    outputs, inits = _parts(total.output), [_parts(each.init or "[]") for each in (top, total)]
    if greatest is None or shifted is None or len(total.arguments) != 2 or not inits[0] or not inits[1]:
        return None
    weight, made = shifted
    shift = _difference(weight)
    if shift is None or not _bounds(greatest, shift):
        return None
    state, argument = total.arguments
    sums = _sums(passes, made)
    if sums is None or len(sums) != len(outputs):
        return None
    taken = {name for text in (greatest, weight, made, *(each for _, each in sums)) for name in _names(_parsed(text))}
    best, shift_by, decay, weigh = _locals(taken | {state, argument})
    names = {_X: f"{argument}[{passes.at}]", _TOP: shift_by, _WEIGHT: weigh}
    items = [best]
    for number, (follows, each) in enumerate(sums, start=1):
        kept = f"{state}[{number}]"
        items.append(f"{kept} * {decay} + {_put(each, names)}" if follows else f"{kept} + {_put(each, names)}")
    lines = (
        f"{best} = torch.maximum({state}[0], {_put(greatest, names)})",
        f"{shift_by} = torch.where({best} > -torch.inf, {best}, 0.0)",
        f"{decay} = {_put(replaced(_parsed(weight), shift, f'{state}[0]'), names)}",
        f"{weigh} = {_put(weight, names)}",
        f"return [{', '.join(items)}]",
    )
    inputs = (*total.inputs[: passes.at], top.inputs[0], *total.inputs[passes.at + 1 :])
    init = f"[{', '.join((*inits[0], *inits[1]))}]"
    return NewFunction(name, (state, argument), inputs, (top.output, *outputs), lines, init)


def picked(fold: NewFunction, name: str, places: range) -> NewFunction:
    """Return the function ``name`` that gives those results of a fold of several."""
    given, items = tuple(fold.output), ", ".join(f"input[{number}]" for number in places)
    return NewFunction(name, ("input",), given, given[places.start : places.stop], (f"return [{items}]",))


def _greatest(top: WrittenFunction) -> str | None:
    """Return what a fold takes the greatest value of, as an expression of one element; None where it does not."""
    match top.returned:
        case ast.Call(func=func, args=[left, right], keywords=[]) if ast.unparse(func) == "torch.maximum":
            pass
        case _:
            return None
    if len(top.arguments) != 2 or len(top.inputs) != 1:
        return None
    state, argument = top.arguments
    for one, other in ((left, right), (right, left)):
        if ast.unparse(one) == f"{state}[0]" and state not in _names(other):
            return _read(other, argument, {0: _X})
    return None


def _shifted(passes: TwoPasses) -> tuple[str, str] | None:
    """Return the exponential in which a Map reads the greatest value, and what it makes of that; None without one."""
    expression = passes.shifted.returned
    if expression is None or len(ast.unparse(expression)) > _LONGEST or len(passes.shifted.arguments) != 1:
        return None
    text = _read(expression, passes.shifted.arguments[0], {passes.of: _X, passes.by: _TOP})
    if text is None:
        return None
    found = {ast.unparse(node) for node in ast.walk(_parsed(text)) if _exponent(node) is not None and _reads_top(node)}
    if len(found) != 1:
        return None
    (weight,) = found
    made = replaced(_parsed(text), weight, _WEIGHT)
    return None if _TOP in _names(_parsed(made)) else (weight, made)


def _exponent(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[exponent], keywords=[]):
            return exponent if name in _EXPONENTIALS else None
        case ast.Call(func=ast.Attribute(value=exponent, attr=name), args=[], keywords=[]):
            return exponent if name in _EXPONENTIALS else None
    return None


def _difference(weight: str) -> str | None:
    """Return what the greatest value is taken from in an exponential, in which no more than a factor stands beside."""
    match _exponent(_parsed(weight)):
        case ast.BinOp(left=ast.BinOp() as inner, op=ast.Mult() | ast.Div(), right=ast.Constant(value=number)):
            pass
        case ast.BinOp(left=ast.Constant(value=number), op=ast.Mult(), right=ast.BinOp() as inner):
            pass
        case ast.BinOp() as inner:
            number = 1
        case _:
            return None
    match inner:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Name(id=name)) if name == _TOP and not _reads_top(left):
            is_positive = isinstance(number, int | float) and number > 0  # else exponents could be above zero
            return ast.unparse(left) if is_positive else None
    return None


def _bounds(greatest: str, shift: str) -> bool:
    """Whether nothing of ``shift`` is above ``greatest``: that is it, or the greatest of its values."""
    expression: ast.expr = _parsed(greatest)
    match expression:
        case ast.Attribute(value=inner, attr="values"):
            expression = inner
        case ast.Subscript(value=inner, slice=ast.Constant(value=0)):
            expression = inner
    match expression:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[of, *_]) if name in _GREATEST:
            return ast.unparse(of) == shift
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _GREATEST:
            return ast.unparse(of) == shift
    return greatest == shift


def _sums(passes: TwoPasses, made: str) -> list[tuple[bool, str]] | None:
    """Return what the last fold adds to each part of its state, and whether that follows the greatest value.

    None where a part is no sum, or does not follow in proportion; and where none follows.
    """
    match passes.total.body:
        case [ast.Return(value=ast.List(elts=parts))]:
            pass
        case _:
            return None
    state, argument = passes.total.arguments
    found: list[tuple[bool, str]] = []
    for number, part in enumerate(parts):
        match part:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pass
            case _:
                return None
        own = f"{state}[{number}]"
        added = [other for one, other in ((left, right), (right, left)) if ast.unparse(one) == own]
        if not added or state in _names(added[0]):
            return None
        text = replaced(added[0], f"{argument}[{passes.at}]", _MADE)
        follows = _MADE in _names(_parsed(text))
        text = replaced(_parsed(text), _MADE, made)
        if len(text) > _LONGEST or (follows and not _is_linear(_parsed(text), passes)):
            return None
        found.append((follows, text))
    return found if any(follows for follows, _ in found) else None


def _is_linear(expression: ast.expr, passes: TwoPasses) -> bool:
    """Whether an expression is in proportion to the weight, row by row where each row has its greatest value."""

    def linear(part: ast.expr) -> bool:
        match part:
            case ast.Name(id=name):
                return name == _WEIGHT
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return linear(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return linear(left) and linear(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return (linear(left) and _is_free(right)) or (_is_free(left) and linear(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return linear(left) and _is_free(right)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                by_rows = (is_one or has_rows) and linear(left) and _is_free(right)
                return by_rows or (is_one and _is_free(left) and linear(right))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="sum"), args=[of, *args], keywords=named):
                return linear(of) and may_sum(args, named)
            case ast.Call(func=ast.Attribute(value=of, attr="sum"), args=args, keywords=named):
                return linear(of) and may_sum(args, named)
        return False

    def may_sum(args: list[ast.expr], named: list[ast.keyword]) -> bool:
        along = [ast.unparse(each) for each in args] + [ast.unparse(each.value) for each in named if each.arg == "dim"]
        keeps = any(each.arg == "keepdim" and ast.unparse(each.value) == "True" for each in named)
        return is_one or (has_rows and keeps and len(along) == 1 and along[0] in _INNERMOST)

    is_one = not passes.greatest
    has_rows = len(passes.element) == 2 and passes.greatest == (passes.element[0], Dim.of(1))
    return (is_one or has_rows or passes.greatest == passes.element) and linear(expression)


def _is_free(expression: ast.expr) -> bool:
    return not _names(expression) & {_WEIGHT, _MADE, _TOP}


def _reads_top(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == _TOP for part in ast.walk(node))


def _read(expression: ast.expr, argument: str, places: dict[int, str]) -> str | None:
    """Return an expression with names for what it reads of an argument; None where it reads anything else of it."""
    text = ast.unparse(expression)
    for number, name in places.items():
        text = replaced(_parsed(text), f"{argument}[{number}]", name)
    return None if argument in _names(_parsed(text)) else text


def _put(text: str, names: dict[str, str]) -> str:
    for shown, new in names.items():
        text = replaced(_parsed(text), shown, new)
    return text


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _locals(taken: set[str]) -> Iterator[str]:
    """Yield names for the values of the body, other ones where the expressions read those."""
    for name in ("top", "shift", "decay", "weight"):
        yield next(each for each in (f"{name}{'_' * more}" for more in count()) if each not in taken)


def _parts(text: str) -> list[str]:
    """Return how the parts of a written tuple or list are written; the whole where it is none."""
    try:
        value = ast.parse(text, mode="eval").body
    except SyntaxError:
        return []
    match value:
        case ast.Call(func=func, args=[inner]) if ast.unparse(func).split(".")[-1] == "STuple":
            value = inner
    if not isinstance(value, ast.List | ast.Tuple):
        return [text]
    return [ast.get_source_segment(text, item) or ast.unparse(item) for item in value.elts]
