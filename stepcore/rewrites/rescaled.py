"""The function of an online fold: a greatest value, and sums that are scaled again whenever it grows.

What is summed is read off the functions of the two passes that there were: each summand follows ``exp(x - top)`` in
proportion, so a sum up to here fits a new greatest value once it is multiplied by ``exp(old - new)`` (Milakov and
Gimelshein 2018, "Online normalizer calculation for softmax"). No exponent is above zero on the way, as none was before.
"""

from __future__ import annotations

import ast
from typing import Final

from stepcore.rewrites.functions import NewFunction, WrittenFunction, replaced
from stepcore.rewrites.passes import (
    ELEMENT,
    FIRST,
    LONGEST,
    MADE,
    WEIGHT,
    OneFold,
    PassNames,
    TwoPasses,
    added,
    names_in,
    new_locals,
    parsed,
    parts_of,
    picked,
    put,
    read,
)
from stepcore.sizes.dim import Dim

_EXPONENTIALS: Final = ("exp", "exp2")
_GREATEST: Final = ("amax", "max")
_INNERMOST: Final = ("1", "-1")
_LOCALS: Final = ("top", "shift", "decay", "weight")


def rescaled(passes: TwoPasses, names: PassNames) -> OneFold | None:
    """Return the functions that fold both in one pass; None where sums cannot be scaled again.

    The fold reads what the last fold read, elements in place of what the Map made of them, and gives the greatest value
    and then what the last fold gave.
    """
    top, total = passes.first, passes.total
    greatest, shifted = _greatest(top), _shifted(passes)
    outputs, inits = parts_of(total.output), [parts_of(each.init or "[]") for each in (top, total)]
    is_told = greatest is not None and shifted is not None and len(total.arguments) == 2 and all(inits)
    if not is_told or greatest is None or shifted is None or passes.center is not None:
        return None
    weight, made = shifted
    shift = _difference(weight)
    if shift is None or not _bounds(greatest, shift):
        return None
    state, argument = total.arguments
    sums = _sums(passes, made)
    if sums is None or len(sums) != len(outputs):
        return None
    taken = {name for text in (greatest, weight, made, *(each for _, each in sums)) for name in names_in(parsed(text))}
    best, shift_by, decay, weigh = new_locals(_LOCALS, taken | {state, argument})
    meant = {ELEMENT: f"{argument}[{passes.at}]", FIRST: shift_by, WEIGHT: weigh}
    items = [best]
    for number, (follows, each) in enumerate(sums, start=1):
        kept = f"{state}[{number}] * {decay}" if follows else f"{state}[{number}]"
        items.append(put(f"{kept} + {MADE}", {MADE: put(each, meant)}))
    lines = (
        f"{best} = torch.maximum({state}[0], {put(greatest, meant)})",
        f"{shift_by} = torch.where({best} > -torch.inf, {best}, 0.0)",
        f"{decay} = {put(replaced(parsed(weight), shift, f'{state}[0]'), meant)}",
        f"{weigh} = {put(weight, meant)}",
        f"return [{', '.join(items)}]",
    )
    inputs = (*total.inputs[: passes.at], top.inputs[0], *total.inputs[passes.at + 1 :])
    init = f"[{', '.join((*inits[0], *inits[1]))}]"
    fold = NewFunction(names.fold, (state, argument), inputs, (top.output, *outputs), lines, init)
    rest = picked(fold, names.rest, range(1, len(fold.output)))
    return OneFold(fold, picked(fold, names.first, range(1)), rest)


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
        if ast.unparse(one) == f"{state}[0]" and state not in names_in(other):
            return read(other, argument, {0: ELEMENT})
    return None


def _shifted(passes: TwoPasses) -> tuple[str, str] | None:
    """Return the exponential in which a Map reads the greatest value, and what it makes of that; None without one."""
    expression = passes.shifted.returned
    if expression is None or len(ast.unparse(expression)) > LONGEST or len(passes.shifted.arguments) != 1:
        return None
    text = read(expression, passes.shifted.arguments[0], {passes.of: ELEMENT, passes.by: FIRST})
    if text is None:
        return None
    found = {ast.unparse(node) for node in ast.walk(parsed(text)) if _exponent(node) is not None and _reads_top(node)}
    if len(found) != 1:
        return None
    (weight,) = found
    made = replaced(parsed(text), weight, WEIGHT)
    return None if FIRST in names_in(parsed(made)) else (weight, made)


def _exponent(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[exponent], keywords=[]):
            return exponent if name in _EXPONENTIALS else None
        case ast.Call(func=ast.Attribute(value=exponent, attr=name), args=[], keywords=[]):
            return exponent if name in _EXPONENTIALS else None
    return None


def _difference(weight: str) -> str | None:
    """Return what the greatest value is taken from in an exponential, in which no more than a factor stands beside."""
    match _exponent(parsed(weight)):
        case ast.BinOp(left=ast.BinOp() as inner, op=ast.Mult() | ast.Div(), right=ast.Constant(value=number)):
            pass
        case ast.BinOp(left=ast.Constant(value=number), op=ast.Mult(), right=ast.BinOp() as inner):
            pass
        case ast.BinOp() as inner:
            number = 1
        case _:
            return None
    match inner:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Name(id=name)) if name == FIRST and not _reads_top(left):
            is_positive = isinstance(number, int | float) and number > 0  # else exponents could be above zero
            return ast.unparse(left) if is_positive else None
    return None


def _bounds(greatest: str, shift: str) -> bool:
    """Whether nothing of ``shift`` is above ``greatest``: that is it, or the greatest of its values."""
    expression: ast.expr = parsed(greatest)
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
    argument, parts = passes.total.arguments[1], added(passes.total)
    found: list[tuple[bool, str]] = []
    for part in parts or ():
        text = replaced(part, f"{argument}[{passes.at}]", MADE)
        follows = MADE in names_in(parsed(text))
        text = replaced(parsed(text), MADE, made)
        if len(text) > LONGEST or (follows and not _is_linear(parsed(text), passes)):
            return None
        found.append((follows, text))
    return found if any(follows for follows, _ in found) else None


def _is_linear(expression: ast.expr, passes: TwoPasses) -> bool:
    """Whether an expression is in proportion to the weight, row by row where each row has its greatest value."""

    def linear(part: ast.expr) -> bool:
        match part:
            case ast.Name(id=name):
                return name == WEIGHT
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

    is_one = not passes.given
    has_rows = len(passes.element) == 2 and passes.given == (passes.element[0], Dim.of(1))
    return (is_one or has_rows or passes.given == passes.element) and linear(expression)


def _is_free(expression: ast.expr) -> bool:
    return not names_in(expression) & {WEIGHT, MADE, FIRST}


def _reads_top(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == FIRST for part in ast.walk(node))
