"""Two folds of the same rows as their functions have them, and the expressions of these with names for what they read.

Between the folds stands a Map that reads the rows once more, beside what the first fold made of them. A module for each
kind of fold says what one pass over the rows would compute instead: :mod:`stepcore.rewrites.rescaled` for exponentials
below a greatest value, :mod:`stepcore.rewrites.deviations` for squares of what is left beside a mean.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from stepcore.records import Record
from stepcore.rewrites.functions import NewFunction, WrittenFunction, replaced
from stepcore.types import Shape

LONGEST: Final = 2000  # characters of an expression
ELEMENT, FIRST, MADE, WEIGHT = "element__", "first__", "made__", "weight__"  # for reads while they are compared


class TwoPasses(Record):
    """The functions of a first fold, of the Map that uses what it gives, and of the fold of what that Map makes.

    The Map reads the elements at ``of`` and what the first fold gives at ``by``, through ``center`` where a Map of that
    alone stands between; the last fold reads its result at ``at``. ``element`` and ``given`` are the shapes of one
    element and of what the first fold gives, outermost size first. ``numbers`` are names that mean a number.
    """

    first: WrittenFunction
    center: WrittenFunction | None
    shifted: WrittenFunction
    total: WrittenFunction
    of: int
    by: int
    at: int
    element: Shape
    given: Shape
    numbers: frozenset[str]

    def is_number(self, node: ast.expr) -> bool:
        """Whether an expression is a number: written out, a size, or a name of the file for one (``numbers``)."""
        match node:
            case ast.Constant(value=int() | float()):
                return True
            case ast.Name(id=name):
                return name in self.numbers
            case ast.Subscript(value=ast.Name(id="ctx")):
                return True
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self.is_number(left) and self.is_number(right)
        return False


class OneFold(Record):
    """The function of one fold in place of two, and those that take out of its state what each of the two gave."""

    fold: NewFunction
    first: NewFunction
    rest: NewFunction


class PassNames(Record):
    """The names of the functions of one pass."""

    fold: str
    first: str
    rest: str


def picked(fold: NewFunction, name: str, places: range) -> NewFunction:
    """Return the function ``name`` that gives those results of a fold of several."""
    given, items = tuple(fold.output), ", ".join(f"input[{number}]" for number in places)
    return NewFunction(name, ("input",), given, given[places.start : places.stop], (f"return [{items}]",))


def added(total: WrittenFunction) -> list[ast.expr] | None:
    """Return what a fold adds to each part of its state; None where it does something else."""
    match total.body:
        case [ast.Return(value=ast.List(elts=parts))] if len(total.arguments) == 2:
            state = total.arguments[0]
        case _:
            return None
    found: list[ast.expr] = []
    for number, part in enumerate(parts):
        match part:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pass
            case _:
                return None
        own = f"{state}[{number}]"
        others = [other for one, other in ((left, right), (right, left)) if ast.unparse(one) == own]
        if not others or state in names_in(others[0]):
            return None
        found.append(others[0])
    return found


def read(expression: ast.expr, argument: str, places: dict[int, str]) -> str | None:
    """Return an expression with names for what it reads of an argument; None where it reads anything else of it."""
    text = ast.unparse(expression)
    for number, name in places.items():
        text = replaced(parsed(text), f"{argument}[{number}]", name)
    return None if argument in names_in(parsed(text)) else text


def put(text: str, names: dict[str, str]) -> str:
    """Return an expression with others in the place of those that ``names`` has."""
    for shown, new in names.items():
        text = replaced(parsed(text), shown, new)
    return text


def parsed(text: str) -> ast.expr:
    """Return the syntax of an expression."""
    return ast.parse(text, mode="eval").body


def names_in(expression: ast.expr) -> set[str]:
    """Return the names that an expression reads."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def new_locals(wanted: Sequence[str], taken: set[str]) -> Iterator[str]:
    """Yield names for the values of a body, other ones where its expressions read those."""
    for name in wanted:
        yield next(each for each in (f"{name}{'_' * more}" for more in count()) if each not in taken)


def parts_of(text: str) -> list[str]:
    """Return how the parts of a written tuple or list are written; the whole where it is none."""
    try:
        value = parsed(text)
    except SyntaxError:
        return []
    match value:
        case ast.Call(func=func, args=[inner]) if ast.unparse(func).split(".")[-1] == "STuple":
            value = inner
    if not isinstance(value, ast.List | ast.Tuple):
        return [text]
    return [ast.get_source_segment(text, item) or ast.unparse(item) for item in value.elts]
