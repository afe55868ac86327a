"""Element functions that are given whole rows in place of the numbers or buffers of a stream, one by one.

What is computed number by number stays as it is written, but for values that have fewer dimensions than what they meet
(``x[:, None]``); a reduction names the dimensions that were its own (:mod:`stepcore.rewrites.wide.expressions`). A fold
of a dimension that lies in the element becomes a reduction of it, where the function joins its state by a sum, a
product, or the greatest or least value. What nobody can say this of is refused with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.records import Record
from stepcore.rewrites.wide.expressions import WideExpressions
from stepcore.rewrites.wide.values import Carried, NotWide, WideValue, bare, dims_text
from stepcore.types import components, dtype_of

_JOINED: Final[dict[type[ast.operator], tuple[str, str, float]]] = {
    ast.Add: ("+", "sum", 0.0),
    ast.Mult: ("*", "prod", 1.0),
}
_CALLED: Final[dict[str, type[ast.operator]]] = {"add": ast.Add, "mul": ast.Mult}
_EXTREMES: Final = {"maximum": ("amax", "min"), "minimum": ("amin", "max")}  # its reduction; how clamp calls an init
_FLOATS: Final = ("fp32", "fp16", "bf16")


class WideFunction(Record):
    """A function over whole rows: the text of its body, and what each component that it gives carries.

    ``pieces`` are the parts of the body that are written otherwise, by their first and last place. ``is_fold``: it was
    one. ``has_state``: it still folds dimensions that stay outside.
    """

    body: str
    made: tuple[Carried, ...]
    pieces: tuple[tuple[int, int, str], ...]
    is_fold: bool = False
    has_state: bool = False


class _Fold(Record):
    """What a component of a fold joins: ``element`` by ``sign`` or ``extreme``, which ``reduction`` does at once."""

    element: ast.expr
    reduction: str
    sign: str = ""
    extreme: str = ""
    neutral: float | None = None

    def joined(self, state: str, other: str) -> str:
        return f"torch.{self.extreme}({state}, {other})" if self.extreme else f"{state} {self.sign} {other}"


def widened(fn: FnDecl, inputs: Sequence[WideValue], known: Mapping[str, WideValue], folded: int = 0) -> WideFunction:
    """Return ``fn`` over elements that carry dimensions of their streams.

    ``inputs`` are the components of its elements, ``known`` the numbers and weights that it reads by name. Of a fold,
    ``folded`` are the innermost dimensions that it joins.

    Raises:
        NotWide: whether it may be given whole rows is not known, or it may not.
    """
    try:
        body = statements(fn.body)
    except BodySyntaxError:
        raise NotWide(f"{fn.func_name} cannot be read") from None
    return _Body(fn, inputs, known, folded).of(body)


class _Body:
    """One function, statement by statement."""

    def __init__(self, fn: FnDecl, inputs: Sequence[WideValue], known: Mapping[str, WideValue], folded: int) -> None:
        *states, argument = fn.body.arguments
        self._fn, self._folded = fn, folded
        self._state = states[0] if states else ""
        self._width = len(inputs[0].carried)
        self._read = WideExpressions(fn.func_name, fn.body.source, argument, inputs, known)
        self._pieces: list[tuple[ast.expr, str]] = []

    def of(self, body: Sequence[ast.stmt]) -> WideFunction:
        """Return the whole function."""
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self._bind(target, value)
                case ast.Return(value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
                    return self._returned(parts)
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    break
        raise NotWide(f"{self._fn.func_name} does more than bind names and return a list")

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if self._read.unpacks(target, value):
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            bound = [self._bound(one, other) for one, other in zip(target.elts, value.elts, strict=True)]
            for name, found in bound:
                self._read.bind(name, found)
            return
        name, found = self._bound(target, value)
        self._read.bind(name, found)

    def _bound(self, target: ast.expr, value: ast.expr) -> tuple[str, WideValue]:
        if not isinstance(target, ast.Name) or target.id == self._state:
            raise NotWide(f"{self._fn.func_name} binds more than names")
        if self._state in {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}:
            raise NotWide(self._no_join())
        text, found = self._read.value(value)
        self._pieces.append((value, text))
        return target.id, found

    def _returned(self, parts: Sequence[ast.expr]) -> WideFunction:
        made = []
        for number, part in enumerate(parts):
            text, value = self._folded_part(part, number) if self._state else self._read.value(part)
            width = max(self._width - self._folded, 0)
            made.append((False,) * width if value.is_number else value.carried)
            self._pieces.append((part, bare(text)))
        body = self._read.spliced(None, self._pieces)
        is_fold = bool(self._state)
        pieces = self._read.changed(self._pieces)
        return WideFunction(body, tuple(made), pieces, is_fold, is_fold and self._folded > self._width)

    # Folds --------------------------------------------------------------------------------------------------------

    def _folded_part(self, part: ast.expr, number: int) -> tuple[str, WideValue]:
        """Return what a component of a fold becomes: what it joins, reduced over the dimensions in the element."""
        name, state = self._fn.func_name, f"{self._state}[{number}]"
        fold = self._fold(part, state)
        if fold is None:
            raise NotWide(self._no_join())
        text, value = self._read.value(fold.element)
        inner = value.carried[: self._folded]
        if value.is_number or not (fold.extreme or all(inner)):
            raise NotWide(f"{name} joins what is the same all along a row as often as the row is long")
        if not fold.extreme and any(dtype_of(each) not in _FLOATS for each in components(self._fn.output)):
            raise NotWide(f"{name} joins whole numbers, of which a reduction makes another type")
        count = sum(inner)
        if fold.reduction == "prod" and count != 1:
            raise NotWide(f"{name} multiplies over several dimensions at once")
        dims = [-value.rank - place for place in range(1, count + 1)]
        reduced = f"torch.{fold.reduction}({text}, {dims_text(dims)})" if count else text
        made = WideValue(value.rank, value.carried[self._folded :])
        match fold.element:
            case ast.BinOp(left=left, op=ast.Mult(), right=right) if fold.reduction == "sum" and len(inner) == 1:
                reduced, made = self._read.contracted(left, right) or (reduced, made)
        if self._folded > self._width:
            return fold.joined(state, reduced), made
        return self._with_init(fold, reduced, number), made

    def _no_join(self) -> str:
        return f"{self._fn.func_name} does not just join its state by a sum, a product or a greatest or least value"

    def _fold(self, part: ast.expr, state: str) -> _Fold | None:
        match part:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _JOINED:
                sign, reduction, neutral = _JOINED[type(op)]
                found = _Fold(left, reduction, sign, "", neutral)
            case ast.Call(func=func, args=[left, right], keywords=[]):
                called = ast.unparse(func).removeprefix("torch.")
                if called in _CALLED:
                    sign, reduction, neutral = _JOINED[_CALLED[called]]
                    found = _Fold(left, reduction, sign, "", neutral)
                elif called in _EXTREMES:
                    least = float("-inf") if called == "maximum" else None
                    found = _Fold(left, _EXTREMES[called][0], "", called, least)
                else:
                    return None
            case _:
                return None
        for one, other in ((left, right), (right, left)):
            read = {node.id for node in ast.walk(other) if isinstance(node, ast.Name)}
            if ast.unparse(one) == state and self._state not in read:
                return _Fold(other, found.reduction, found.sign, found.extreme, found.neutral)
        return None

    def _with_init(self, fold: _Fold, reduced: str, number: int) -> str:
        """Return a reduction of all that is folded, with the init that the fold begins with."""
        inits = self._fn.init
        if inits is None or number >= len(inits):
            raise NotWide(f"{self._fn.func_name} computes its init")
        if inits[number] == fold.neutral:
            return reduced
        if fold.extreme:
            return f"torch.clamp({reduced}, {_EXTREMES[fold.extreme][1]}={inits[number]:g})"
        return f"{inits[number]:g} {fold.sign} {reduced}"
