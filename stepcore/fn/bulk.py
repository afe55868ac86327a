"""What a body certainly makes too large: tensors, ranges, lists and numbers whose sizes are constant arithmetic.

The simulator refuses the same when it runs; here nothing runs, so only what the text and the bound sizes tell is found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from math import inf, prod
from typing import Final

from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import Evaluator, assigned_names
from stepcore.fn.source import BodySyntaxError, statements

# Bounds of one evaluation, here and in the simulator.
MAX_NUMBERS: Final = 1 << 28  # in one tensor: 1 GiB in fp32
MAX_ITEMS: Final = 1_000_000  # of one range, list or text
MAX_BITS: Final = 4096  # of one integer

# Functions and methods -> which arguments are sizes. -1 means all, from the first on or as one list.
_SIZES_FROM: Final = {
    "zeros": -1, "ones": -1, "empty": -1, "rand": -1, "randn": -1, "eye": -1, "new_zeros": -1, "new_ones": -1,
    "new_empty": -1, "repeat": -1, "tile": -1, "full": 0, "new_full": 0, "randperm": 0, "linspace": 2, "logspace": 2,
    "one_hot": 1,
}  # fmt: skip
_KEYWORDS: Final = ("size", "n", "steps", "num_classes", "dims")


class Bulk:
    """Looks at one body in the order of its statements, so that it knows the constants that the body names."""

    def __init__(self, sizes: Mapping[str, int], prelude: CodeBlock | None) -> None:
        self._evaluator = Evaluator(dict(sizes))
        self._hidden: frozenset[str] = frozenset()
        if prelude is not None:
            try:
                body = statements(prelude)
            except BodySyntaxError:
                body = ()  # reported where the block is checked
            for statement in body:
                self.before(statement)
                self.after(statement)

    def before(self, statement: ast.stmt) -> None:
        """Forget what a loop or branch may bind: its names have more than one value."""
        if isinstance(statement, ast.If | ast.For):
            for name in assigned_names([statement]):
                self._evaluator.forget(name)

    def after(self, statement: ast.stmt) -> None:
        """Take note of the constants that a statement binds."""
        self._evaluator.run(statement)

    def hide(self, names: Iterable[str]) -> frozenset[str]:
        """From here on ``names`` are arguments and the like; returns what :meth:`unhide` takes."""
        before = self._hidden
        self._hidden = before | frozenset(names)
        return before

    def unhide(self, before: frozenset[str]) -> None:
        """Return to the names that were hidden before."""
        self._hidden = before

    def forget(self, name: str) -> None:
        """From here on nothing is known of ``name``."""
        self._evaluator.forget(name)

    def complaint(self, node: ast.expr) -> str:
        """Return what is too large about a call or an operation, or an empty text."""
        match node:
            case ast.Call(func=ast.Name(id="range"), args=args):
                return _too_many(self._range(args), "this range has", "items", MAX_ITEMS)
            case ast.Call(func=ast.Name(id="int"), args=[text, *_]):
                return _too_many(self._characters(text), "this reads an integer from", "characters", MAX_BITS)
            case ast.Call(func=ast.Attribute(attr="arange"), args=args):
                return _too_many(self._range(args), "this makes a tensor of", "numbers", MAX_NUMBERS)
            case ast.Call(func=ast.Attribute(attr=name)):
                return _too_many(self._numbers(name, node), "this makes a tensor of", "numbers", MAX_NUMBERS)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                return _too_many(self._repeated(left, right), "this makes a sequence of", "items", MAX_ITEMS)
            case ast.BinOp(op=ast.Pow() | ast.LShift() as op, left=left, right=right):
                return self._power(left, op, right)
        return ""

    def _range(self, args: list[ast.expr]) -> float:
        numbers = [self._integer(arg) for arg in args]
        if not 1 <= len(numbers) <= 3 or any(number is None for number in numbers):
            return 0
        known = [number for number in numbers if number is not None]
        start, stop = (0, known[0]) if len(known) == 1 else (known[0], known[1])
        step = known[2] if len(known) == 3 else 1
        if not step or inf in (start, step):
            return 0
        return inf if stop == inf else max(0, -((stop - start) // -step))

    def _numbers(self, name: str, node: ast.Call) -> float:
        which = _SIZES_FROM.get(name)
        sizes: list[ast.expr] = []
        if name in ("randint", "normal"):  # the sizes are the first list
            sizes += [arg for arg in node.args if isinstance(arg, ast.Tuple | ast.List)][:1]
        elif which is None:
            return 0
        else:
            sizes = node.args if which < 0 else node.args[which : which + 1]
        sizes = [*sizes, *(keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS)]
        parts = [part for size in sizes for part in (size.elts if isinstance(size, ast.Tuple | ast.List) else [size])]
        numbers = [self._integer(part) for part in parts]
        if name == "eye" and len(numbers) == 1:
            numbers *= 2
        # Sizes that are not known are at least 1 for all that matters; with a 0 among the others nothing is made.
        return prod(1 if number is None else max(number, 0) for number in numbers)

    def _characters(self, text: ast.expr) -> float:
        match text:
            case ast.Constant(value=str() as digits):
                return len(digits)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                is_text = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in (left, right))
                return self._repeated(left, right) if is_text else 0
        return 0

    def _repeated(self, left: ast.expr, right: ast.expr) -> float:
        for sequence, times in ((left, right), (right, left)):
            match sequence:
                case ast.List(elts=items) | ast.Tuple(elts=items):
                    return len(items) * max(self._integer(times) or 0, 0)
                case ast.Constant(value=str() as text):
                    return len(text) * max(self._integer(times) or 0, 0)
        return 0

    def _power(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        base, exponent = self._integer(left), self._integer(right)
        if base is None or exponent is None or base in (0, inf) or exponent <= 0:
            return ""
        length = int(base).bit_length()
        bits = exponent + length if isinstance(op, ast.LShift) else exponent * (length - 1)
        return _too_many(bits, "this is a number of at least", "bits", MAX_BITS)

    def _integer(self, node: ast.expr) -> float | None:
        """Return the integer that ``node`` certainly is, infinity for a huge one, or None."""
        if self._hidden and any(isinstance(part, ast.Name) and part.id in self._hidden for part in ast.walk(node)):
            return None
        return self._evaluator.integer(node)


def _too_many(found: float, what: str, noun: str, limit: int) -> str:
    if found <= limit:
        return ""
    count = "more than 2**62" if found > 1 << 62 else f"{int(found):,}"
    return f"{what} {count} {noun}; at most {limit:,} are possible"
