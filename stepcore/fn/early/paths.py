"""What a body's names hold where Python comes to them: whether each has a value, and which, as far as the text tells.

A :class:`Path` is a state of all scopes at one place. It is *certain* where Python comes to that place in every call
that raises nothing before; in the arms of a condition that only data decide it is not.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from stepcore.records import Record

MOST_ITEMS: Final = 32  # of a sequence that is followed item by item
_MOST_COMPARED: Final = 128  # items of two values, those inside of items counted
_LIMIT: Final = 1 << 31


class _Anything:
    """A value of which nothing is known."""


class SomeContainer:
    """A list or a dictionary of which nothing else is known."""


ANYTHING: Final = _Anything()
SOME_LIST: Final = SomeContainer()
SOME_MAPPING: Final = SomeContainer()


class KnownItems(Record):
    """A sequence by its items. One that ``is_list`` may have got others by another name."""

    items: tuple[Any, ...]
    is_list: bool = False


class BodyFrame:
    """The scope of one call or comprehension: the names that it binds, and the scope around.

    ``is_global``: names that it has not bound yet may be known outside, as in a module.
    """

    __slots__ = ("around", "is_comprehension", "is_global", "own")

    def __init__(
        self,
        own: frozenset[str],
        around: BodyFrame | None = None,
        is_comprehension: bool = False,
        is_global: bool = False,
    ) -> None:
        self.own = own
        self.around = around
        self.is_comprehension = is_comprehension
        self.is_global = is_global

    def holder(self, name: str) -> BodyFrame | None:
        """Return the scope whose name this is, None for names from outside of all."""
        frame: BodyFrame | None = self
        while frame is not None and name not in frame.own:
            frame = frame.around
        return frame

    @property
    def function(self) -> BodyFrame:
        """The scope of the function around comprehensions."""
        frame = self
        while frame.is_comprehension and frame.around is not None:
            frame = frame.around
        return frame


class HelperValue:
    """A function that a body makes, with the scope where it is made."""

    __slots__ = ("around", "is_foreign", "node")

    def __init__(self, node: ast.FunctionDef | ast.Lambda, around: BodyFrame, is_foreign: bool = False) -> None:
        self.node = node
        self.around = around
        self.is_foreign = is_foreign  # it stands in another block

    @property
    def name(self) -> str:
        """Its name, empty for a lambda."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else ""


class HeldName:
    """What a name holds; ``sure`` is False where it may have no value."""

    __slots__ = ("sure", "value")

    def __init__(self, value: Any = ANYTHING, sure: bool = True) -> None:
        self.value = value
        self.sure = sure


Names: TypeAlias = dict[tuple[BodyFrame, str], HeldName]


class Path:
    """The names of all scopes at one place; one that is missing has no value there."""

    __slots__ = ("certain", "names", "result")

    def __init__(self, names: Names | None = None, certain: bool = True, result: Any = None) -> None:
        self.names = {} if names is None else names
        self.certain = certain
        self.result = result  # what a call returned that ended here

    def copy(self, *, certain: bool) -> Path:
        """Return the same state for an arm."""
        return Path(dict(self.names), certain)

    def become(self, other: Path) -> None:
        """Take over the state of another path."""
        self.names, self.certain, self.result = other.names, other.certain, other.result


def joined(paths: Sequence[Path], *, certain: bool) -> Path:
    """Return the state where several paths meet."""
    first, *others = paths
    if not others:
        return Path(first.names, certain, first.result)
    names: Names = {}
    for key in dict.fromkeys(key for path in paths for key in path.names):
        held = [path.names.get(key) for path in paths]
        known = [each for each in held if each is not None]
        value = known[0].value if all(same(known[0].value, each.value) for each in known[1:]) else ANYTHING
        names[key] = HeldName(value, len(known) == len(held) and all(each.sure for each in known))
    result = first.result if all(same(first.result, path.result) for path in others) else ANYTHING
    return Path(names, certain, result)


def same(left: Any, right: Any) -> bool:
    """Return whether two values are known to be the same."""
    return _same(left, right, [_MOST_COMPARED])


def _same(left: Any, right: Any, left_over: list[int]) -> bool:
    """Compare item by item: lists that hold lists twice, forty deep, have more items than anybody can compare."""
    left_over[0] -= 1
    if left is right:
        return True
    if type(left) is not type(right) or left_over[0] < 0:
        return False
    if not isinstance(left, KnownItems):
        return bool(left == right)
    if left.is_list is not right.is_list or len(left.items) != len(right.items):
        return False
    return all(_same(one, other, left_over) for one, other in zip(left.items, right.items, strict=True))


def unchanged(names: Names, before: Names) -> bool:
    """Return whether all names are known to hold what they held before."""
    return names.keys() == before.keys() and all(
        held.sure is before[key].sure and same(held.value, before[key].value) for key, held in names.items()
    )


def truth(value: Any) -> bool | None:
    """Return the truth of a value, None where it is not known."""
    if value is ANYTHING or isinstance(value, SomeContainer):
        return None
    return bool(value.items) if isinstance(value, KnownItems) else bool(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a known number."""
    return isinstance(value, int | float)


_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv,
}  # fmt: skip
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def computed(op: ast.operator, left: Any, right: Any) -> Any:
    """Return ``left op right`` of known numbers and sequences, :data:`ANYTHING` for all others."""
    if isinstance(left, KnownItems) and isinstance(right, KnownItems) and isinstance(op, ast.Add):
        return _sequence([*left.items, *right.items], is_list=left.is_list)
    compute = _ARITHMETIC.get(type(op))
    if compute is None or not is_number(left) or not is_number(right):
        return ANYTHING
    try:
        value = compute(left, right)
    except (ArithmeticError, ValueError):
        return ANYTHING
    return value if abs(value) < _LIMIT else ANYTHING


def compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    """Return what a comparison of known values gives."""
    if left is ANYTHING or right is ANYTHING:
        return ANYTHING
    if isinstance(op, ast.Is | ast.IsNot):
        if left is not None and right is not None:
            return ANYTHING
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return _contained(op, left, right)
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return _COMPARISONS[type(op)](left, right)
    if None in (left, right) and isinstance(op, ast.Eq | ast.NotEq):
        return (left is right) is isinstance(op, ast.Eq)
    return ANYTHING


def _contained(op: ast.cmpop, left: Any, right: Any) -> Any:
    if not isinstance(right, KnownItems) or not isinstance(left, int | str):
        return ANYTHING
    if not all(isinstance(item, int | str) for item in right.items):
        return ANYTHING
    return (left in right.items) is isinstance(op, ast.In)


def negated(op: ast.unaryop, value: Any) -> Any:
    """Return what an operator with one operand gives."""
    if isinstance(op, ast.Not):
        known = truth(value)
        return ANYTHING if known is None else not known
    if not is_number(value) or isinstance(op, ast.Invert):
        return ANYTHING
    return -value if isinstance(op, ast.USub) else +value


def item_of(value: Any, index: Any) -> Any:
    """Return ``value[index]``."""
    if isinstance(value, KnownItems) and type(index) is int and -len(value.items) <= index < len(value.items):
        return value.items[index]
    return ANYTHING


def _sequence(items: Sequence[Any], *, is_list: bool = False) -> Any:
    return KnownItems(tuple(items), is_list) if len(items) <= MOST_ITEMS else ANYTHING


def _range(args: Sequence[Any]) -> Any:
    if not 1 <= len(args) <= 3 or not all(type(arg) is int for arg in args) or (len(args) == 3 and args[2] == 0):
        return ANYTHING
    return _sequence(tuple(islice(range(*args), MOST_ITEMS + 1)))


def _over(make: Callable[..., Iterable[Any]], *, is_list: bool = False) -> Callable[[Sequence[Any]], Any]:
    def build(args: Sequence[Any]) -> Any:
        if not all(isinstance(arg, KnownItems) for arg in args):
            return ANYTHING
        return _sequence([*islice(make(*(arg.items for arg in args)), MOST_ITEMS + 1)], is_list=is_list)

    return build


def _pairs(*columns: Sequence[Any]) -> Iterable[Any]:
    return (KnownItems(pair) for pair in zip(*columns, strict=False))


def _numbered(items: Sequence[Any]) -> Iterable[Any]:
    return (KnownItems(pair) for pair in enumerate(items))


def _of_numbers(compute: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    def build(args: Sequence[Any]) -> Any:
        return compute(*args) if len(args) > 1 and all(map(is_number, args)) else ANYTHING

    return build


def _len(args: Sequence[Any]) -> Any:
    return len(args[0].items) if len(args) == 1 and isinstance(args[0], KnownItems) else ANYTHING


def _bool(args: Sequence[Any]) -> Any:
    known = truth(args[0]) if len(args) == 1 else None
    return ANYTHING if known is None else known


# What functions of Python give of known values.
FUNCTIONS: Final[dict[str, Callable[[Sequence[Any]], Any]]] = {
    "range": _range, "len": _len, "bool": _bool, "list": _over(lambda items=(): items, is_list=True),
    "tuple": _over(lambda items=(): items), "reversed": _over(reversed), "zip": _over(_pairs),
    "enumerate": _over(_numbered), "min": _of_numbers(min), "max": _of_numbers(max),
    "abs": lambda args: abs(args[0]) if len(args) == 1 and is_number(args[0]) else ANYTHING,
}  # fmt: skip


def given(name: str, args: Sequence[Any]) -> Any:
    """Return what one of :data:`FUNCTIONS` gives; Python may refuse the call, which is no concern of this."""
    try:
        return FUNCTIONS[name](args)
    except (TypeError, ValueError, OverflowError):
        return ANYTHING
