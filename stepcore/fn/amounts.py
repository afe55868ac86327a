"""How much a body certainly makes: items of lists, characters of texts, bits of numbers, as far as the text tells.

Everything here is a lower bound. A value of which nothing is known counts as nothing, so whatever is found too large is
too large in every run that reaches it. The numbers themselves are those of :class:`~stepcore.fn.prelude.Evaluator`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from stepcore.findings import budget
from stepcore.fn.prelude import Evaluator, assigned_names
from stepcore.fn.source import augmented

# Rounds of a loop that are followed: what doubles has passed every bound by then, what does not is bounded by the run.
_ROUNDS: Final = 64
_STATEMENTS: Final = 1 << 13  # that are followed in the rounds of loops inside of one loop
_LOST: Final = frozenset({"pop", "clear", "remove"})
_SAME_ITEMS: Final = frozenset({"list", "tuple", "sorted", "reversed", "enumerate"})
_WIDTH: Final = re.compile(r"%[-+ #0]*(\d+)?(?:\.(\d+))?")
_LEAST: Final = re.compile(r"[ +]?0?([1-9]\d{0,3})")


def times(one: float, other: float) -> float:
    """Return the product of two amounts: nothing, however often, is nothing, while floats have no product for that."""
    return one * other if one and other else 0


@dataclass(frozen=True, slots=True)
class Items:
    """A list, tuple or text (``item`` None) of at least ``count`` items, of which one holds at least ``item``.

    ``exact``: there are just as many, unless the list is changed by another name.
    """

    count: float
    item: Items | None = None
    exact: bool = False

    @property
    def leaves(self) -> float:
        """Return how many items there are at least, those of lists inside counted instead of the lists."""
        return times(self.count, 1 if self.item is None else self.item.leaves)


@dataclass(frozen=True, slots=True)
class Bits:
    """A whole number of at least so many bits."""

    count: float


Amount = Items | Bits


class Amounts:
    """Follows the statements of a block in their order.

    ``evaluator`` knows the numbers, ``hidden`` are names that stand for something else here. What holds more than
    ``most`` was reported where it was made, and is forgotten: one mistake gives one finding.
    """

    def __init__(self, evaluator: Evaluator, most: tuple[float, float]) -> None:
        self._evaluator = evaluator
        self._most_items, self._most_bits = most
        self._known: dict[str, Amount] = {}
        self.hidden: frozenset[str] = frozenset()
        self._ends: dict[ast.For, bool] = {}

    def copy(self) -> dict[str, Amount]:
        """Return what is known, for :meth:`restore`."""
        return dict(self._known)

    def restore(self, known: Mapping[str, Amount]) -> None:
        """Know again what was known when ``known`` was copied."""
        self._known = dict(known)

    def forget(self, name: str) -> None:
        """From here on nothing is known of ``name``."""
        self._known.pop(name, None)

    # Statements -------------------------------------------------------------------------------------------------

    def run(self, statement: ast.stmt) -> None:
        """Take note of what one statement binds or lengthens."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._bind(name, self.of(value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._bind(name, self.of(value))
            case ast.AugAssign(target=ast.Name(id=name)):
                self._bind(name, self.of(augmented(statement)))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()) as target], value=value):
                self._bind(name, self.inserted(target, value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) as call):
                self._bind(name, None if method in _LOST else self.lengthened(call) or self._known.get(name))
            case ast.Return():
                pass  # nothing comes after it
            case _:
                for name in assigned_names([statement]):
                    self.forget(name)

    def _bind(self, name: str, amount: Amount | None) -> None:
        most = self._most_items if isinstance(amount, Items) else self._most_bits
        if amount is None or amount.count > most:
            self.forget(name)
        else:
            self._known[name] = amount

    def rounds(self, loop: ast.For) -> Iterator[ast.stmt]:
        """Run a loop as often as it certainly runs, at most 64 times; yields each statement before it is run.

        Loops inside of loops are left where they have run so many statements that nothing more is to be learnt; what
        they would run counts as work of the document all the same. Afterwards the numbers are known that were before:
        the caller forgets what the loop binds.
        """
        known = dict(self._evaluator.names)
        most = max(_STATEMENTS, _ROUNDS * len(loop.body))
        for followed, statement in enumerate(self._rounds(loop)):
            if followed == most:
                budget.spend(self._statements_of(loop) - most)
                break
            yield statement
        self._evaluator.names = known

    def _statements_of(self, loop: ast.For) -> int:
        """Return how many statements the rounds of a loop run that are followed."""
        around = self.of(loop.iter)
        rounds = int(min(around.count, _ROUNDS)) if isinstance(around, Items) and not self._may_end(loop) else 0
        inner = (self._statements_of(each) for each in loop.body if isinstance(each, ast.For))
        return rounds * (len(loop.body) + sum(inner))

    def _rounds(self, loop: ast.For) -> Iterator[ast.stmt]:
        around = self.of(loop.iter)
        if not isinstance(around, Items) or self._may_end(loop):
            self._lose([loop])
            return
        for _ in range(int(min(around.count, _ROUNDS))):
            self._lose([ast.Assign([loop.target], loop.iter)])
            for statement in loop.body:
                budget.spend(1)
                yield statement
                if isinstance(statement, ast.For):
                    yield from self._rounds(statement)
                elif isinstance(statement, ast.If):
                    self._lose([statement])
                else:
                    self.run(statement)
                    self._evaluator.run(statement)

    def _may_end(self, loop: ast.For) -> bool:
        """Whether a round may end before its end; a loop inside of others is asked often."""
        if loop not in self._ends:
            ends = (ast.Break, ast.Return, ast.Continue)
            self._ends[loop] = any(isinstance(node, ends) for node in ast.walk(loop))
        return self._ends[loop]

    def _lose(self, statements: list[ast.stmt]) -> None:
        for name in assigned_names(statements):
            self._evaluator.forget(name)
            self.forget(name)

    def length(self, node: ast.expr) -> int | None:
        """Return how many items a list, tuple or text has, None where that is not certain."""
        found = self.of(node)
        return int(found.count) if isinstance(found, Items) and found.exact else None

    # Expressions ------------------------------------------------------------------------------------------------

    def integer(self, node: ast.expr) -> float | None:
        """Return the integer that ``node`` certainly is, infinity for a huge one, or None."""
        number = self._evaluator.integer(node)
        if number is None or not self.hidden:
            return number  # what is no number is the common case, and found faster than a hidden name
        is_hidden = any(isinstance(part, ast.Name) and part.id in self.hidden for part in ast.walk(node))
        return None if is_hidden else number

    def of(self, node: ast.expr) -> Amount | None:
        """Return how much an expression holds, None where nothing is known."""
        match node:
            case ast.Name(id=name) if name in self._known and name not in self.hidden:
                return self._known[name]
            case ast.Constant(value=str() as text):
                return Items(len(text), exact=True)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return self._display(parts)
            case ast.JoinedStr(values=parts):
                return Items(sum(self._characters(part) for part in parts))
            case ast.ListComp(elt=item, generators=generators) | ast.GeneratorExp(elt=item, generators=generators):
                certain = not any(generator.ifs for generator in generators)
                around = self.of(generators[0].iter)
                exact = len(generators) == 1 and isinstance(around, Items) and around.exact
                return Items(self.passes(generators), _items(self.of(item)), exact) if certain else None
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right)
            case ast.NamedExpr(value=value):
                return self.of(value)
            case ast.Subscript(value=base, slice=index) if not isinstance(index, ast.Slice):
                return _item(self.of(base))
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name not in self.hidden:
                return self._built(name, node.args, first)
            case ast.Call(func=ast.Attribute(value=base, attr="copy"), args=[]):
                return self.of(base)
        return self._number(node)

    def _number(self, node: ast.expr) -> Bits | None:
        number = self.integer(node)
        return None if number is None or number == inf else Bits(int(abs(number)).bit_length())

    def _display(self, parts: Sequence[ast.expr]) -> Items:
        count, held, exact = 0.0, None, True
        for part in parts:
            inner = self.of(part.value if isinstance(part, ast.Starred) else part)
            if isinstance(part, ast.Starred):
                count += inner.count if isinstance(inner, Items) else 0
                exact = exact and isinstance(inner, Items) and inner.exact
                inner = _item(inner)
            else:
                count += 1
            held = _larger(held, _items(inner))
        return Items(count, held, exact)

    def _characters(self, part: ast.expr) -> float:
        inner = self.of(part.value if isinstance(part, ast.FormattedValue) else part)
        count = inner.count if isinstance(inner, Items) and inner.item is None else 0
        width = _least_width(part.format_spec) if isinstance(part, ast.FormattedValue) else 0
        return max(count, width)

    def passes(self, generators: Sequence[ast.comprehension]) -> float:
        """Return how often a comprehension evaluates something, as far as that does not depend on its own names."""
        count, before = 1.0, self.hidden
        for generator in generators:
            around = self.of(generator.iter)
            if not isinstance(around, Items):
                break
            count = times(count, around.count)
            self.hidden |= assigned_names([ast.Assign([generator.target], generator.iter)])
            if generator.ifs:
                break
        self.hidden = before
        return count

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Amount | None:
        if isinstance(op, ast.Mod) and isinstance(left, ast.Constant) and isinstance(left.value, str):
            return Items(self._formatted(left.value, right))
        if isinstance(op, ast.Pow | ast.LShift):
            return self._power(left, op, right)
        if not isinstance(op, ast.Add | ast.Mult):
            return None
        one, other = self.of(left), self.of(right)
        if isinstance(op, ast.Mult):
            if isinstance(one, Bits) and isinstance(other, Bits):
                return Bits(max(one.count + other.count - 1, 0)) if one.count and other.count else Bits(0)
            for sequence, factor in ((one, right), (other, left)):
                if isinstance(sequence, Items):
                    number = self.integer(factor)
                    exact = sequence.exact and number not in (None, inf)
                    return Items(times(sequence.count, max(number or 0, 0)), sequence.item, exact)
            return None
        if isinstance(one, Items) or isinstance(other, Items):
            pair = [part for part in (one, other) if isinstance(part, Items)]
            exact = len(pair) == 2 and all(part.exact for part in pair)
            return Items(sum(part.count for part in pair), _larger(pair[0].item, pair[-1].item), exact)
        return self._number(ast.BinOp(left, op, right)) if one is not None and other is not None else None

    def _power(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Bits | None:
        base, exponent = self.of(left), self.integer(right)
        if not isinstance(base, Bits) or exponent is None or not base.count or exponent <= 0:
            return None
        return Bits(exponent + base.count if isinstance(op, ast.LShift) else times(exponent, base.count - 1))

    def _formatted(self, text: str, values: ast.expr) -> float:
        if "%*" in text or ".*" in text:  # widths among the values
            parts = values.elts if isinstance(values, ast.Tuple) else [values]
            return max((self.integer(part) or 0 for part in parts), default=0)
        widths = [int(width) for found in _WIDTH.finditer(text) for width in found.groups() if width]
        return max([len(text), *widths])

    def _built(self, name: str, args: Sequence[ast.expr], first: ast.expr) -> Amount | None:
        if name == "range":
            return Items(self.range(args), exact=all(self.integer(arg) not in (None, inf) for arg in args))
        if name in _SAME_ITEMS:
            return _items(self.of(first))
        return None

    def range(self, args: Sequence[ast.expr]) -> float:
        """Return how many items a range with these arguments has, 0 where that is not known."""
        numbers = [self.integer(arg) for arg in args]
        if not 1 <= len(numbers) <= 3 or any(number is None for number in numbers):
            return 0
        known = [number for number in numbers if number is not None]
        start, stop = (0, known[0]) if len(known) == 1 else (known[0], known[1])
        step = known[2] if len(known) == 3 else 1
        if not step or inf in (start, step):
            return 0
        return inf if stop == inf else max(0, -((stop - start) // -step))

    def inserted(self, target: ast.expr, value: ast.expr) -> Items | None:
        """Return what a list holds after an empty slice of it was stored into, ``xs[0:0] = ...``; None for others."""
        match target:
            case ast.Subscript(value=ast.Name() as base, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                held, more = self.of(base), self.of(value)
                if isinstance(held, Items) and isinstance(more, Items) and self._is_empty(base, lower, upper):
                    return Items(held.count + more.count, _larger(held.item, more.item))
        return None

    def _is_empty(self, base: ast.Name, lower: ast.expr | None, upper: ast.expr | None) -> bool:
        match lower, upper:
            case _, ast.Constant(value=0):
                return True
            case ast.Constant(value=int() as start), ast.Constant(value=int() as end):
                return start >= end >= 0
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), _:
                return name == base.id
        return False

    def lengthened(self, call: ast.Call) -> Items | None:
        """Return what a list holds after a call of one of its methods that lengthens it, None for any other call."""
        match call:
            case ast.Call(func=ast.Attribute(value=base, attr="append" | "insert"), args=[*_, item]):
                held = self.of(base)
                if isinstance(held, Items):
                    return Items(held.count + 1, _larger(held.item, _items(self.of(item))))
            case ast.Call(func=ast.Attribute(value=base, attr="extend"), args=[more]):
                held, others = self.of(base), self.of(more)
                if isinstance(held, Items) and isinstance(others, Items):
                    return Items(held.count + others.count, _larger(held.item, others.item))
        return None


def _least_width(spec: ast.expr | None) -> int:
    """Return the width that a format asks for, 0 where it asks for none."""
    match spec:
        case ast.JoinedStr(values=[ast.Constant(value=str() as text)]):
            found = _LEAST.match(text)
            return int(found[1]) if found else 0
    return 0


def _items(amount: Amount | None) -> Items | None:
    return amount if isinstance(amount, Items) else None


def _item(amount: Amount | None) -> Items | None:
    return amount.item if isinstance(amount, Items) else None


def _larger(one: Items | None, other: Items | None) -> Items | None:
    if one is None or other is None:
        return one or other
    return one if one.leaves >= other.leaves else other
