"""Whether an element function works on each row of its tiles by itself, so that other rows may stand beside these.

A value *has rows* where row i of it follows from row i of the tiles, and from what has no rows; it is *flat* where it
is spread over rows, and *whole* where it is a matrix that follows from no row. What none of these can be said of, a
number of rows or a position among others, is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from stepcore.rewrites.functions import WrittenFunction


class _Kind(Enum):
    ROWS = "has rows"
    FLAT = "is spread over rows"
    WHOLE = "is a matrix without rows"


_POINTS: Final = (
    "abs", "absolute", "clamp", "clip", "cos", "erf", "exp", "exp2", "expm1", "gelu", "leaky_relu", "log", "log1p",
    "log2", "logical_not", "maximum", "minimum", "mul", "neg", "negative", "pow", "reciprocal", "relu", "round",
    "rsqrt", "sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh", "where", "add", "sub", "div",
    "to", "float", "half", "bfloat16", "double",
)  # fmt: skip
_ALONG: Final = ("sum", "mean", "amax", "amin", "softmax", "log_softmax", "cumsum")  # over columns
_KEEPING: Final = ("softmax", "log_softmax", "cumsum")  # as many columns as before
_COLUMNS: Final = ("1", "-1")
_BESIDE: Final = ("dtype", "min", "max", "approximate", "negative_slope", "exponent")  # parameters without rows
_TURNED: Final = ("T", "mT")


def is_row_wise(function: WrittenFunction, rows: Sequence[bool], flat: Sequence[bool]) -> bool:
    """Whether each result of a function has rows, where of its inputs those at ``rows`` have some.

    ``flat`` says which of the others are spread over rows: numbers, and tiles of one row. A state has rows.
    """
    *state, argument = function.arguments
    if len(state) > 1 or len(rows) != len(function.inputs):
        return False
    kinds = [
        _Kind.ROWS if has_rows else _Kind.FLAT if is_flat else _Kind.WHOLE
        for has_rows, is_flat in zip(rows, flat, strict=True)
    ]
    known: dict[str, _Kind | None] = {}
    reads = _Reads(argument, kinds, state[0] if state else "", known)
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in (argument, *state):
                known[name] = reads.kind(value)
            case ast.Return(value=ast.List(elts=parts)):
                return all(reads.kind(part) is _Kind.ROWS for part in parts)
            case _:
                return False
    return False


class _Reads:
    """What is known of the expressions of one function."""

    def __init__(self, argument: str, inputs: Sequence[_Kind], state: str, known: Mapping[str, _Kind | None]) -> None:
        self._argument = argument
        self._inputs = inputs
        self._state = state
        self._known = known

    def kind(self, node: ast.expr) -> _Kind | None:
        """Return what can be said of an expression; None for nothing."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return _Kind.FLAT
            case ast.Attribute(value=ast.Name(id="torch"), attr="inf"):
                return _Kind.FLAT
            case ast.Name(id=name):
                return self._known.get(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as place)):
                if name == self._state:
                    return _Kind.ROWS
                return self._inputs[place] if name == self._argument and 0 <= place < len(self._inputs) else None
            case ast.UnaryOp(operand=operand):
                return self.kind(operand)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._product(self.kind(left), self.kind(right))
            case ast.BinOp(left=left, right=right):
                return _spread([self.kind(left), self.kind(right)])
            case ast.Compare(left=left, comparators=[right]):
                return _spread([self.kind(left), self.kind(right)])
            case ast.Attribute(value=value, attr=name) if name in _TURNED:
                return _Kind.WHOLE if self.kind(value) is _Kind.WHOLE else None
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=named):
                return self._called(name, args if _is_module(value) else [value, *args], named)
        return None

    def _called(self, name: str, args: Sequence[ast.expr], named: Sequence[ast.keyword]) -> _Kind | None:
        if name == "matmul" and len(args) == 2 and not named:
            return self._product(self.kind(args[0]), self.kind(args[1]))
        if name in _ALONG:
            return self._along(name, args, named)
        if name not in _POINTS or any(keyword.arg not in _BESIDE for keyword in named):
            return None
        beside = [keyword.value for keyword in named if not isinstance(keyword.value, ast.Constant)]
        return _spread([self.kind(each) for each in (*args, *beside) if not _is_dtype(each)])

    def _along(self, name: str, args: Sequence[ast.expr], named: Sequence[ast.keyword]) -> _Kind | None:
        """Return what a reduction of columns gives: rows, where it leaves a column."""
        given = {str(keyword.arg): ast.unparse(keyword.value) for keyword in named}
        over = [ast.unparse(each) for each in args[1:]] + ([given.pop("dim")] if "dim" in given else [])
        keeps = name in _KEEPING or given.pop("keepdim", "") == "True"
        given.pop("dtype", None)
        if given or not keeps or len(over) != 1 or over[0] not in _COLUMNS or not args:
            return None
        return _Kind.ROWS if self.kind(args[0]) is _Kind.ROWS else None

    @staticmethod
    def _product(left: _Kind | None, right: _Kind | None) -> _Kind | None:
        return left if left in (_Kind.ROWS, _Kind.WHOLE) and right is _Kind.WHOLE else None


def _spread(kinds: Sequence[_Kind | None]) -> _Kind | None:
    """Return what comes of values that are taken number by number, or spread over each other."""
    if None in kinds or not kinds:
        return None
    found = {each for each in kinds if each is not _Kind.FLAT}
    return None if len(found) > 1 else next(iter(found), _Kind.FLAT)


def _is_module(node: ast.expr) -> bool:
    """Whether a name of torch is looked up: ``torch``, ``torch.nn.functional``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "torch"


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch"
