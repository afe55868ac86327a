"""Expressions of a body that is followed: what they read, in Python's order, and what they give where that is known."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn.early.paths import (
    ANYTHING,
    FUNCTIONS,
    MOST_ITEMS,
    SOME_LIST,
    SOME_MAPPING,
    BodyFrame,
    HeldName,
    HelperValue,
    KnownItems,
    Path,
    SomeContainer,
    compared,
    computed,
    given,
    item_of,
    joined,
    negated,
    truth,
)
from stepcore.fn.prelude import comprehension_names

_MOST_STEPS: Final = 20_000


class Raises(Exception):
    """Python raises here: a name has no value."""


class OutOfSteps(Exception):
    """The body takes too long to be followed; what was found holds."""


class ExpressionFollower(ABC):
    """Follows expressions. ``sizes`` are numbers by the names that stand for them outside of all scopes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.wrong: dict[int, tuple[ast.expr, str, str]] = {}  # reads that certainly find no value, by identity
        self.reads: dict[int, tuple[ast.expr, str, str]] = {}  # those that found none on some way
        self.fine: set[int] = set()  # those that found one on some way
        self.texts: dict[int, ast.expr] = {}  # lists and dictionaries that would be written into a text, by identity
        self.site: tuple[ast.expr, str] | None = None  # the call by which a helper of another block is followed
        self.made = 0  # functions so far
        self._steps = _MOST_STEPS

    @abstractmethod
    def call_helper(self, helper: HelperValue, args: Sequence[Any] | None, named: Mapping[str, Any], path: Path) -> Any:
        """Return what a call gives; ``args`` None stands for arguments that are not known."""

    def too_early(self) -> dict[int, tuple[ast.expr, str, str]]:
        """Return the reads so far that find no value, each with the name and the helper that reads it."""
        return {**self.wrong, **{key: read for key, read in self.reads.items() if key not in self.fine}}

    def spend(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            OutOfSteps: the body takes too many.
            OutOfBudget: the document does.
        """
        budget.spend(steps)
        self._steps -= steps
        if self._steps < 0:
            raise OutOfSteps

    def value(self, node: ast.expr, frame: BodyFrame, path: Path) -> Any:
        """Return what is known of an expression.

        Raises:
            Raises: it reads a name that has no value here.
        """
        self.spend()
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node, frame, path)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.value(part, frame, path)
        return ANYTHING

    def read(self, node: ast.Name, frame: BodyFrame, path: Path) -> Any:
        """Return what a name holds.

        Raises:
            Raises: it has no value here.
        """
        name = node.id
        holder = frame.holder(name)
        if holder is None:
            return self.sizes.get(name, ANYTHING)
        held = path.names.get((holder, name))
        if held is None and holder.is_global and self.is_outside(name):
            return ANYTHING
        place, helper = (node, "") if self.site is None else self.site
        if held is None or not held.sure:
            self.reads[id(place)] = place, name, helper
        if held is None:
            if path.certain:
                self.wrong[id(place)] = place, name, helper
            raise Raises
        self.fine.add(id(place))
        if not held.sure:  # where it has none Python stops
            path.names[holder, name] = HeldName(held.value)
        value = held.value
        is_list = isinstance(value, KnownItems) and value.is_list
        return SOME_LIST if is_list and self.may_change_lists() else value

    @abstractmethod
    def may_change_lists(self) -> bool:
        """Return whether anything in the text may make a list longer or shorter, by whatever name."""

    @abstractmethod
    def is_outside(self, name: str) -> bool:
        """Return whether a name of the outermost block is known before the block binds it."""

    def store(self, name: str, value: Any, frame: BodyFrame, path: Path) -> None:
        """Give a name of the function around ``frame``, or of the comprehension that has it, a value."""
        holder = frame if name in frame.own else frame.function
        path.names[holder, name] = HeldName(value)

    def bind(self, target: ast.expr, value: Any, frame: BodyFrame, path: Path) -> None:
        """Give the names of a target their values; what stands in items is read."""
        match target:
            case ast.Name(id=name):
                self.store(name, value, frame, path)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                is_plain = not any(isinstance(part, ast.Starred) for part in parts)
                known = isinstance(value, KnownItems) and len(value.items) == len(parts) and is_plain
                for index, part in enumerate(parts):
                    inner = part.value if isinstance(part, ast.Starred) else part
                    self.bind(inner, value.items[index] if known else ANYTHING, frame, path)
            case ast.Subscript(value=base, slice=index):
                self.value(base, frame, path)
                self.value(index, frame, path)
            case ast.Attribute(value=base):
                self.value(base, frame, path)

    def either(self, runs: Sequence[Callable[[Path], Any]], path: Path) -> Any:
        """Run both arms of a condition that is not known, and go on where they meet.

        Raises:
            Raises: no arm goes on.
        """
        ends: list[tuple[Path, Any]] = []
        self.spend(len(path.names) >> 3)
        for run in runs:
            arm = path.copy(certain=False)
            with suppress(Raises):
                ends.append((arm, run(arm)))
        if not ends:
            raise Raises
        path.become(joined([arm for arm, _ in ends], certain=path.certain))
        return ends[0][1] if len(ends) == 1 else ANYTHING

    # By kind ----------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, _frame: BodyFrame, _path: Path) -> Any:
        return node.value if isinstance(node.value, int | float | str | None) else ANYTHING

    def _display(self, node: ast.List | ast.Tuple, frame: BodyFrame, path: Path) -> Any:
        items: list[Any] = []
        most = max(MOST_ITEMS, len(node.elts))  # a list that takes itself apart twice has soon more than fit anywhere
        otherwise: Any = None
        for part in node.elts:
            inner = part.value if isinstance(part, ast.Starred) else part
            value = self.value(inner, frame, path)
            if not isinstance(part, ast.Starred):
                items.append(value)
            elif not isinstance(value, KnownItems):
                otherwise = ANYTHING
            elif len(items) + len(value.items) <= most:
                items += value.items
            elif otherwise is None:
                otherwise = SOME_LIST if isinstance(node, ast.List) else ANYTHING
        return KnownItems(tuple(items), isinstance(node, ast.List)) if otherwise is None else otherwise

    def _binary(self, node: ast.BinOp, frame: BodyFrame, path: Path) -> Any:
        left = self.value(node.left, frame, path)
        return computed(node.op, left, self.value(node.right, frame, path))

    def _unary(self, node: ast.UnaryOp, frame: BodyFrame, path: Path) -> Any:
        return negated(node.op, self.value(node.operand, frame, path))

    def _compare(self, node: ast.Compare, frame: BodyFrame, path: Path) -> Any:
        return self._compared(self.value(node.left, frame, path), node.ops, node.comparators, frame, path)

    def _compared(
        self, left: Any, ops: Sequence[ast.cmpop], others: Sequence[ast.expr], frame: BodyFrame, path: Path
    ) -> Any:
        right = self.value(others[0], frame, path)
        outcome = compared(ops[0], left, right)
        known = truth(outcome)
        if len(ops) == 1 or known is False:
            return outcome
        if known is None:  # the rest may be left out
            rest = [lambda arm: self._compared(right, ops[1:], others[1:], frame, arm), lambda _arm: outcome]
            return self.either(rest, path)
        return self._compared(right, ops[1:], others[1:], frame, path)

    def _bool(self, node: ast.BoolOp, frame: BodyFrame, path: Path) -> Any:
        return self._joined_by(isinstance(node.op, ast.Or), node.values, frame, path)

    def _joined_by(self, stops_at: bool, parts: Sequence[ast.expr], frame: BodyFrame, path: Path) -> Any:
        value = self.value(parts[0], frame, path)
        known = truth(value)
        if len(parts) == 1 or known is stops_at:
            return value
        if known is None:
            rest = [lambda arm: self._joined_by(stops_at, parts[1:], frame, arm), lambda _arm: value]
            return self.either(rest, path)
        return self._joined_by(stops_at, parts[1:], frame, path)

    def _conditional(self, node: ast.IfExp, frame: BodyFrame, path: Path) -> Any:
        known = truth(self.value(node.test, frame, path))
        if known is not None:
            return self.value(node.body if known else node.orelse, frame, path)
        arms = [partial(self.value, part, frame) for part in (node.body, node.orelse)]
        return self.either(arms, path)

    def _named(self, node: ast.NamedExpr, frame: BodyFrame, path: Path) -> Any:
        value = self.value(node.value, frame, path)
        self.bind(node.target, value, frame.function, path)
        return value

    def _subscript(self, node: ast.Subscript, frame: BodyFrame, path: Path) -> Any:
        base = self.value(node.value, frame, path)
        index = self.value(node.slice, frame, path)
        match node:
            case ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name)) if frame.holder("ctx") is None:
                return self.sizes.get(f"{name}_value", ANYTHING)
        return item_of(base, index)

    def _formatted(self, node: ast.FormattedValue, frame: BodyFrame, path: Path) -> Any:
        self._written(node.value, self.value(node.value, frame, path))
        if node.format_spec is not None:
            self.value(node.format_spec, frame, path)
        return ANYTHING

    def _written(self, node: ast.expr, value: Any) -> None:
        """Take note of a list or dictionary in a text, which a run refuses."""
        if isinstance(value, SomeContainer | KnownItems) and self.site is None:
            self.texts[id(node)] = node

    def _lambda(self, node: ast.Lambda, frame: BodyFrame, path: Path) -> Any:
        return self.helper(node, frame, path)

    def helper(self, node: ast.Lambda | ast.FunctionDef, frame: BodyFrame, path: Path) -> HelperValue:
        """Return the function that a definition makes; its defaults are evaluated now."""
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.value(default, frame, path)
        self.made += 1
        return HelperValue(node, frame, is_foreign=self.site is not None)

    def leave(self, frame: BodyFrame, path: Path, made: int) -> None:
        """Forget the names of a scope, unless a function was made since ``made`` were: it may keep the scope."""
        if self.made == made:
            for name in frame.own:
                path.names.pop((frame, name), None)

    def _call(self, node: ast.Call, frame: BodyFrame, path: Path) -> Any:
        function = self.value(node.func, frame, path)
        args: list[Any] | None = []
        for argument in node.args:
            is_starred = isinstance(argument, ast.Starred)
            value = self.value(argument.value if isinstance(argument, ast.Starred) else argument, frame, path)
            args = None if args is None or is_starred else [*args, value]
        named = {keyword.arg: self.value(keyword.value, frame, path) for keyword in node.keywords}
        if isinstance(function, HelperValue):
            before = self.site
            if function.is_foreign and before is None:
                self.site = node, function.name or "this function"
            try:
                known = {name: value for name, value in named.items() if name is not None}
                return self.call_helper(function, None if len(known) < len(named) else args, known, path)
            finally:
                self.site = before
        for value in (*(args or ()), *named.values()):
            if isinstance(value, HelperValue):  # nobody knows how often it is called, and with what
                self.either([partial(self.call_helper, value, None, {}), lambda _arm: None], path)
        if isinstance(node.func, ast.Name) and node.func.id == "str" and args and frame.holder("str") is None:
            self._written(node.args[0], args[0])
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS and not named and args is not None:
                return given(name, args) if frame.holder(name) is None else ANYTHING
        return ANYTHING

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, frame: BodyFrame, path: Path) -> Any:
        return self._collected(node, [node.elt], frame, path)

    def _mapping(self, node: ast.DictComp, frame: BodyFrame, path: Path) -> Any:
        self._collected(node, [node.key, node.value], frame, path)
        return SOME_MAPPING

    def _dictionary(self, node: ast.Dict, frame: BodyFrame, path: Path) -> Any:
        for part in (part for item in zip(node.keys, node.values, strict=True) for part in item if part is not None):
            self.value(part, frame, path)
        return SOME_MAPPING

    def _collected(
        self,
        node: ast.ListComp | ast.GeneratorExp | ast.DictComp,
        parts: Sequence[ast.expr],
        around: BodyFrame,
        path: Path,
    ) -> Any:
        generators = node.generators
        frame = BodyFrame(comprehension_names(generators), around, is_comprehension=True)
        items: list[Any] = []
        made = self.made
        exact = self._rounds(parts, generators, (around, frame), path, items, lazily=isinstance(node, ast.GeneratorExp))
        self.leave(frame, path, made)
        return KnownItems(tuple(items), is_list=True) if exact and isinstance(node, ast.ListComp) else ANYTHING

    def _rounds(
        self,
        parts: Sequence[ast.expr],
        generators: Sequence[ast.comprehension],
        frames: tuple[BodyFrame, BodyFrame],
        path: Path,
        items: list[Any],
        *,
        lazily: bool = False,
    ) -> bool:
        """Follow the rounds; False where their number is not known. Of a generator nobody knows who asks for which."""
        frame = frames[1]
        if not generators:
            items.append([self.value(part, frame, path) for part in parts][-1])
            return True
        first = generators[0]
        # What the first goes over is evaluated outside.
        around = self.value(first.iter, frames[0], path)
        if not isinstance(around, KnownItems) or lazily:
            self.either(
                [lambda arm: self._round(parts, generators, frame, ANYTHING, arm, items), lambda _arm: None], path
            )
            return False
        exact = True
        for item in around.items:
            exact = self._round(parts, generators, frame, item, path, items) and exact
        return exact

    def _round(
        self,
        parts: Sequence[ast.expr],
        generators: Sequence[ast.comprehension],
        frame: BodyFrame,
        item: Any,
        path: Path,
        items: list[Any],
    ) -> bool:
        first, *inner = generators
        self.bind(first.target, item, frame, path)
        return self._tested(first.ifs, parts, inner, frame, path, items)

    def _tested(
        self,
        tests: Sequence[ast.expr],
        parts: Sequence[ast.expr],
        inner: Sequence[ast.comprehension],
        frame: BodyFrame,
        path: Path,
        items: list[Any],
    ) -> bool:
        if not tests:
            return self._rounds(parts, inner, (frame, frame), path, items)
        known = truth(self.value(tests[0], frame, path))
        if known is None:
            rest = [lambda arm: self._tested(tests[1:], parts, inner, frame, arm, items), lambda _arm: None]
            self.either(rest, path)
            return False
        return not known or self._tested(tests[1:], parts, inner, frame, path, items)


_HANDLERS: Final[dict[type[ast.expr], Callable[[Any, Any, BodyFrame, Path], Any]]] = {
    ast.Constant: ExpressionFollower._constant,
    ast.Name: ExpressionFollower.read,
    ast.List: ExpressionFollower._display,
    ast.Tuple: ExpressionFollower._display,
    ast.BinOp: ExpressionFollower._binary,
    ast.UnaryOp: ExpressionFollower._unary,
    ast.Compare: ExpressionFollower._compare,
    ast.BoolOp: ExpressionFollower._bool,
    ast.IfExp: ExpressionFollower._conditional,
    ast.NamedExpr: ExpressionFollower._named,
    ast.FormattedValue: ExpressionFollower._formatted,
    ast.Subscript: ExpressionFollower._subscript,
    ast.Lambda: ExpressionFollower._lambda,
    ast.Call: ExpressionFollower._call,
    ast.ListComp: ExpressionFollower._comprehension,
    ast.GeneratorExp: ExpressionFollower._comprehension,
    ast.DictComp: ExpressionFollower._mapping,
    ast.Dict: ExpressionFollower._dictionary,
}
