"""The function of an online fold of squared deviations: a count, a mean and the squares around it go along.

Two passes find a value of all rows (their sum), make a center of it (their mean), and add up ``(x - center) ** 2``. One
pass keeps the squares around the mean up to here: those of a block and those before are joined as T. F. Chan, G. H.
Golub and R. J. LeVeque did ("Updating formulae and a pairwise algorithm for computing sample variances", 1979), single
numbers as B. P. Welford ("Note on a method for calculating corrected sums of squares and products", 1962). Nothing is
taken from sums of squares, so no digits get lost. Around another center than the mean the squares are larger by
``count * (mean - center) ** 2`` (Steiner), so the center may be any multiple of what the first fold gives.
"""

from __future__ import annotations

import ast
from math import isfinite
from typing import Final

from stepcore.records import Record
from stepcore.rewrites.functions import NewFunction, replaced
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

_STATE: Final = "state__"  # what the first fold has up to here
_LOCALS: Final = ("values", "width", "block", "count", "gap", "mean", "apart", "joined")
_OWN: Final = 3  # parts of the state in front of those that the last fold has: the first fold's value, count and mean


class _Along(Record):
    """A sum of WEIGHT, and how many numbers it adds up, as expressions."""

    of: str
    width: str


class _Squares(Record):
    """A part of the last fold that adds ``(values - center) ** 2``, along a dimension or number by number.

    ``scaled`` is WEIGHT with the factors that stand around the squares.
    """

    part: int
    values: str
    center: str
    scaled: str
    along: _Along | None


def deviations(passes: TwoPasses, names: PassNames) -> OneFold | None:
    """Return the functions that fold both in one pass; None where the last fold adds no squares of deviations.

    The fold reads what the last fold read, elements in place of what the Map made of them. Its state is what the first
    fold gives, the count and the mean of the values, and then what the last fold gave.
    """
    first, total = passes.first, passes.total
    kept, sums = _kept(passes), added(total)
    outputs, inits = parts_of(total.output), parts_of(total.init or "[]")
    if kept is None or not sums or not len(sums) == len(outputs) == len(inits):
        return None
    state, argument = total.arguments
    texts = [replaced(each, f"{argument}[{passes.at}]", MADE) for each in sums]
    follows = [number for number, text in enumerate(texts) if MADE in names_in(parsed(text))]
    squares = _squares(passes, follows[0], texts[follows[0]]) if len(follows) == 1 else None
    if squares is None or _value(inits[squares.part]) != 0:
        return None
    taken = {name for text in (kept, *texts, squares.values) for name in names_in(parsed(text))}
    own = dict(zip(_LOCALS, new_locals(_LOCALS, taken | {state, argument}), strict=True))
    element = f"{argument}[{passes.at}]"
    lines, count, mean, joined = _joined(squares, own, put(squares.values, {ELEMENT: element}), state)
    if squares.along is not None:  # what the first fold adds to its state may be the block's sum
        kept = put(kept, {put(squares.along.of, {WEIGHT: squares.values}): own["block"]})
    texts[squares.part] = joined
    items = [put(kept, {ELEMENT: element, _STATE: f"{state}[0]"}), count, mean]
    items += [put(f"{state}[{number}] + {MADE}", {MADE: text}) for number, text in enumerate(texts, start=_OWN)]
    kind = outputs[squares.part]
    inputs = (*total.inputs[: passes.at], first.inputs[0], *total.inputs[passes.at + 1 :])
    init = f"[{', '.join((*parts_of(first.init or '[]'), '0', '0', *inits))}]"
    lines = (*lines, f"return [{', '.join(items)}]")
    fold = NewFunction(names.fold, (state, argument), inputs, (first.output, kind, kind, *outputs), lines, init)
    return OneFold(fold, picked(fold, names.first, range(1)), _rest(fold, names.rest, squares))


def _kept(passes: TwoPasses) -> str | None:
    """Return what a first fold makes of its state and an element; None where an empty one would have no number."""
    first = passes.first
    if first.returned is None or len(first.arguments) != 2 or len(first.inputs) != 1:
        return None
    state, argument = first.arguments
    inits = parts_of(first.init or "[]")
    kept = read(first.returned, state, {0: _STATE})
    found = None if kept is None else read(parsed(kept), argument, {0: ELEMENT})
    value = _value(inits[0]) if len(inits) == 1 else None
    is_usable = value is not None and isfinite(value) and found is not None and len(found) <= LONGEST
    return found if is_usable else None


def _joined(squares: _Squares, own: dict[str, str], values: str, state: str) -> tuple[tuple[str, ...], str, str, str]:
    """Return the lines of the fold, and what the count and the mean become, and what is added to the squares."""
    count, gap = own["count"], own["gap"]
    if squares.along is None:
        mean = own["mean"]
        alone = (
            f"{own['values']} = {values}",
            f"{count} = {state}[1] + 1",
            f"{gap} = {own['values']} - {state}[2]",
            f"{mean} = {state}[2] + {gap} / {count}",
        )
        return alone, count, mean, f"{gap} * ({own['values']} - {mean})"
    along, block, width, apart = squares.along, own["block"], own["width"], own["apart"]
    named, around = {WEIGHT: own["values"]}, put(along.of, {WEIGHT: f"{apart} * {apart}"})
    lines = (
        f"{own['values']} = {values}",
        f"{width} = {put(along.width, named)}",
        f"{block} = {put(along.of, named)}",
        f"{apart} = {own['values']} - {block} / {width}",
        f"{count} = {state}[1] + {width}",
        f"{gap} = {block} / {width} - {state}[2]",
        f"{own['joined']} = {around} + {gap} * {gap} * ({state}[1] * {width} / {count})",
    )
    return lines, count, f"{state}[2] + {gap} * ({width} / {count})", own["joined"]


def _rest(fold: NewFunction, name: str, squares: _Squares) -> NewFunction:
    """Return the function that gives what the last fold gave, with the squares around its center."""
    given = tuple(fold.output)
    items = [f"input[{number}]" for number in range(_OWN, len(given))]
    center = put(squares.center, {FIRST: "input[0]"})
    around = put(f"{items[squares.part]} + input[1] * torch.square(input[2] - {FIRST})", {FIRST: center})
    items[squares.part] = put(squares.scaled, {WEIGHT: around})
    return NewFunction(name, ("input",), given, given[_OWN:], (f"return [{', '.join(items)}]",))


# What is summed up ------------------------------------------------------------------------------------------------


def _squares(passes: TwoPasses, part: int, text: str) -> _Squares | None:
    """Return the squares that a part of the last fold adds, of which ``text`` reads what the Map makes."""
    center, shifted = passes.center, passes.shifted
    if shifted.returned is None or len(shifted.arguments) != 1:
        return None
    made = read(shifted.returned, shifted.arguments[0], {passes.of: ELEMENT, passes.by: FIRST})
    if made is not None and center is not None:
        inner = None
        if center.returned is not None and len(center.arguments) == 1:
            inner = read(center.returned, center.arguments[0], {0: FIRST})
        made = None if inner is None else replaced(parsed(made), FIRST, f"({inner})")
    if made is None:
        return None
    text = replaced(parsed(text), MADE, made)
    scaled, along, node = WEIGHT, None, parsed(text) if len(text) <= LONGEST else None
    while node is not None:
        match node:
            case ast.BinOp(left=inner_node, op=ast.Mult() | ast.Div() as op, right=factor) if passes.is_number(factor):
                scaled = replaced(parsed(scaled), WEIGHT, ast.unparse(ast.BinOp(parsed(WEIGHT), op, factor)))
                node = inner_node
            case ast.BinOp(left=factor, op=ast.Mult(), right=inner_node) if passes.is_number(factor):
                scaled = replaced(parsed(scaled), WEIGHT, f"{ast.unparse(factor)} * {WEIGHT}")
                node = inner_node
            case ast.Call() if along is None and (summed := _summed(node, passes)) is not None:
                along, node = summed
            case _:
                break
    difference = None if node is None else _squared(node)
    found = None if difference is None else _apart(difference, passes)
    if found is None or (along is None and passes.given not in ((), passes.element)):
        return None
    return _Squares(part, *found, scaled, along)


def _summed(node: ast.Call, passes: TwoPasses) -> tuple[_Along, ast.expr] | None:
    """Return along what a call adds up numbers around one center, and of what; None where it does not do that."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="sum"), args=[of, *args], keywords=named):
            pass
        case ast.Call(func=ast.Attribute(value=of, attr="sum"), args=args, keywords=named):
            pass
        case _:
            return None
    given = [*args, *(each.value for each in named if each.arg == "dim")]
    keeps = [each.value for each in named if each.arg == "keepdim"]
    if len(given) + len(keeps) < len(args) + len(named):
        return None
    summed = replaced(node, ast.unparse(of), WEIGHT)
    if not given:
        return (_Along(summed, f"{WEIGHT}.numel()"), of) if not keeps and passes.given == () else None
    place = _value(ast.unparse(given[0])) if len(given) == 1 else None
    if place is None or not -len(passes.element) <= place < len(passes.element):
        return None
    has_one = passes.given == () or (len(passes.given) == len(passes.element) and passes.given[int(place)] == Dim.of(1))
    is_kept = [ast.unparse(each) for each in keeps] == ["True"]
    if not has_one or not (is_kept or passes.given == ()):
        return None
    return _Along(summed, f"{WEIGHT}.shape[{int(place)}]"), of


def _squared(node: ast.expr) -> ast.expr | None:
    """Return what an expression is the square of; None where it is none."""
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2 | 2.0)):
            return left
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.unparse(left) == ast.unparse(right):
            return left
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="square"), args=[of], keywords=[]):
            return of
        case ast.Call(func=ast.Attribute(value=of, attr="square"), args=[], keywords=[]):
            return of
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="pow"),
            args=[of, ast.Constant(value=2 | 2.0)],
            keywords=[],
        ):
            return of
        case ast.Call(func=ast.Attribute(value=of, attr="pow"), args=[ast.Constant(value=2 | 2.0)], keywords=[]):
            return of
    return None


def _apart(node: ast.expr, passes: TwoPasses) -> tuple[str, str] | None:
    """Return values, number by number of an element, and a multiple of the first fold's result that they are beside."""
    match node:
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            pass
        case _:
            return None
    for values, center in ((left, right), (right, left)):
        if _follows(values, ELEMENT, passes) and _follows(center, FIRST, passes):
            return ast.unparse(values), ast.unparse(center)
    return None


def _follows(node: ast.expr, name: str, passes: TwoPasses) -> bool:
    """Whether an expression is ``name``, moved and scaled by numbers, so that it is finite where that is."""
    match node:
        case ast.Name(id=own):
            return own == name
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _follows(operand, name, passes)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            by_left = _follows(left, name, passes) and passes.is_number(right)
            return by_left or (passes.is_number(left) and _follows(right, name, passes))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _follows(left, name, passes) and passes.is_number(right)
    return False


def _value(text: str) -> float | None:
    """Return the number that an expression is; None where it is none."""
    match parsed(text):
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -float(number)
    return None
