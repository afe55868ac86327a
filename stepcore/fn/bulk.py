"""What a body certainly makes too large: tensors, ranges, lists and numbers whose sizes are constant arithmetic.

The simulator refuses the same when it runs; here nothing runs, so only what the text and the bound sizes tell is found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import reduce
from math import inf
from typing import Final

from stepcore.fn.amounts import Amounts, Bits, Items, times
from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import Evaluator, assigned_names
from stepcore.fn.python_calls import bits_to_round
from stepcore.fn.source import BodySyntaxError, augmented, binds_inside, statements
from stepcore.text.wording import counted

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
_COPIES_NUMBERS: Final = frozenset({"tensor", "as_tensor", "new_tensor"})
_KEYWORDS: Final = ("size", "n", "steps", "num_classes", "dims")


class Bulk:
    """Looks at one body in the order of its statements, so that it knows the constants that the body names."""

    def __init__(self, sizes: Mapping[str, int], prelude: CodeBlock | None) -> None:
        self._evaluator = Evaluator(dict(sizes))
        self._amounts = Amounts(self._evaluator, (MAX_ITEMS, MAX_BITS))
        if prelude is not None:
            try:
                body = statements(prelude)
            except BodySyntaxError:
                body = ()  # reported where the block is checked
            self.read(prelude.source.text)
            for statement in body:
                if isinstance(statement, ast.For):
                    self.reset(self.follow(statement)[0])
                elif isinstance(statement, ast.If):
                    self.lose(statement)
                self.after(statement)

    def read(self, text: str) -> None:
        """Take ``text`` for that of the statements that follow."""
        self._evaluator.binds_inside = binds_inside(text)

    def lose(self, statement: ast.If | ast.For) -> None:
        """Forget what a loop or a branch may bind: its names have more than one value."""
        for name in assigned_names([statement]):
            self.forget(name)

    def follow(self, loop: ast.For) -> tuple[object, tuple[ast.stmt, str] | None]:
        """Follow a loop to its end, then know what holds in its first round: its body may be looked at.

        Returns what is known after it, for :meth:`reset`, and the statement that certainly makes something too large in
        one of its rounds, with what is wrong.
        """
        before = self.mark()
        found = self._looped(loop)
        self.lose(loop)
        after = self.mark()
        self.reset(before)
        self.lose(loop)
        return after, found

    def _looped(self, loop: ast.For) -> tuple[ast.stmt, str] | None:
        for statement in self._amounts.rounds(loop):
            match statement:
                case ast.AugAssign():
                    complaint = self.complaint(augmented(statement))
                case ast.Assign(targets=[ast.Subscript() as target], value=value):
                    complaint = self.stored(target, value) or self.complaint(value)
                case ast.Assign(value=value) | ast.Expr(value=value) | ast.AnnAssign(value=ast.expr() as value):
                    complaint = self.complaint(value)
                case _:
                    continue
            if complaint:
                return statement, complaint
        return None

    def stored(self, target: ast.expr, value: ast.expr | None) -> str:
        """Return what is too large about a list after ``target = value``, or an empty text."""
        longer = None if value is None else self._amounts.inserted(target, value)
        return "" if longer is None else _too_many(longer.count, "this makes a sequence of", "items", MAX_ITEMS)

    def after(self, statement: ast.stmt) -> None:
        """Take note of the constants that a statement binds."""
        self._amounts.run(statement)
        self._evaluator.run(statement)

    def mark(self) -> object:
        """Return what is known here, for :meth:`reset`: a branch may be followed, and then its other arm."""
        return dict(self._evaluator.names), self._amounts.copy()

    def reset(self, mark: object) -> None:
        """Return to what was known at ``mark``."""
        assert isinstance(mark, tuple)
        self._evaluator.names = dict(mark[0])
        self._amounts.restore(mark[1])

    def hide(self, names: Iterable[str]) -> frozenset[str]:
        """From here on ``names`` are arguments and the like; returns what :meth:`unhide` takes."""
        before = self._amounts.hidden
        self._amounts.hidden = before | frozenset(names)
        return before

    def unhide(self, before: frozenset[str]) -> None:
        """Return to the names that were hidden before."""
        self._amounts.hidden = before

    def forget(self, name: str) -> None:
        """From here on nothing is known of ``name``."""
        self._evaluator.forget(name)
        self._amounts.forget(name)

    def outside(self, node: ast.Subscript) -> str:
        """Return that an index certainly is out of range at the bound sizes, or an empty text."""
        if isinstance(node.slice, ast.Slice | ast.Tuple):
            return ""
        index, length = self._amounts.integer(node.slice), None
        if index is not None:
            length = self._amounts.length(node.value)
        if index is None or length is None or -length <= index < length:
            return ""
        sizes = sorted({part.id for part in ast.walk(node.slice) if isinstance(part, ast.Name)})
        known = [f"{name} = {self._amounts.integer(ast.Name(name))}" for name in sizes]
        at = f" where {' and '.join(known)}" if known else ""
        return f"index {index} is out of range{at}: there {'is' if length == 1 else 'are'} {counted(length, 'item')}"

    def complaint(self, node: ast.expr) -> str:
        """Return what is too large about a call, an operation, a display or a comprehension, or an empty text."""
        match node:
            case ast.Call(func=ast.Name(id="range"), args=args):
                return _too_many(self._amounts.range(args), "this range has", "items", MAX_ITEMS)
            case ast.Call(func=ast.Name(id="int"), args=[text, *_]):
                held = self._amounts.of(text)
                characters = held.count if isinstance(held, Items) else 0
                return _too_many(characters, "this reads an integer from", "characters", MAX_BITS)
            case ast.Call(func=ast.Name(id="round")):
                return self._rounded(node)
            case ast.Call(func=ast.Attribute(attr="arange"), args=args):
                return _too_many(self._amounts.range(args), "this makes a tensor of", "numbers", MAX_NUMBERS)
            case ast.Call(func=ast.Attribute(attr=name)):
                return self._called(name, node)
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                passes = self._amounts.passes(generators)
                return _too_many(passes, "this comprehension has", "rounds", MAX_ITEMS)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                if not any(isinstance(part, ast.Starred) for part in parts):
                    return ""  # as many as were written
            case ast.BinOp() | ast.JoinedStr() | ast.Call():
                pass
            case _:
                return ""
        found = self._amounts.of(node)
        if isinstance(found, Bits):
            return _too_many(found.count, "this is a number of at least", "bits", MAX_BITS)
        return "" if found is None else _too_many(found.count, "this makes a sequence of", "items", MAX_ITEMS)

    def _rounded(self, node: ast.Call) -> str:
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        given = [*node.args, *(named[each] for each in ("number", "ndigits") if each in named)]
        if len(given) != 2 or any(isinstance(each, ast.Starred) for each in given):
            return ""
        number, digits = map(self._amounts.integer, given)
        if number is None or digits is None or digits == inf:
            return ""
        return _too_many(bits_to_round(0, int(digits)), "this makes a power of ten of at least", "bits", MAX_BITS)

    def _called(self, name: str, node: ast.Call) -> str:
        longer = self._amounts.lengthened(node)
        if longer is not None:
            return _too_many(longer.count, "this makes a sequence of", "items", MAX_ITEMS)
        if name in _COPIES_NUMBERS and node.args:
            held = self._amounts.of(node.args[0])
            numbers = held.leaves if isinstance(held, Items) else 0
        else:
            numbers = self._numbers(name, node)
        return _too_many(numbers, "this makes a tensor of", "numbers", MAX_NUMBERS)

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
        numbers = [self._amounts.integer(part) for part in parts]
        if name == "eye" and len(numbers) == 1:
            numbers *= 2
        # Sizes that are not known are at least 1 for all that matters; with a 0 among the others nothing is made.
        return reduce(times, (1.0 if number is None else max(number, 0.0) for number in numbers), 1.0)


def _too_many(found: float, what: str, noun: str, limit: int) -> str:
    if found <= limit:
        return ""
    count = "more than 2**62" if found > 1 << 62 else f"{int(found):,}"
    return f"{what} {count} {noun}; at most {limit:,} are possible"
