"""What is known of names along the statements of a body: assignments, conditions, loops."""

from __future__ import annotations

import ast
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn import allow
from stepcore.fn.aliases import bound_modules
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.prelude import assigned_names
from stepcore.fn.shapes.expressions import Expressions, misfit, same
from stepcore.fn.shapes.modules import arguments_of
from stepcore.fn.shapes.operands import condition
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    GlobalFunction,
    LikeItems,
    Pair,
    ShapeList,
    ShapeMismatch,
    Sizes,
    length_of,
    row_of,
    shape_text,
)
from stepcore.fn.source import statements
from stepcore.fn.walk.finding import BodyFinding
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.wording import clipped, counted

_MOST_HELPERS: Final = 32  # calls of functions of ``global`` that are followed in a body
_DEEPEST: Final = 4  # and how deep


class AllReturned(Exception):
    """Every path has returned."""


class BodyStatements(Expressions, ABC):
    """Abstract interpretation of the statements of one body; what is returned is the affair of subclasses."""

    def __init__(
        self, scope: FnScope, parameters: Mapping[str, Sizes] | None, shapes: Callable[[Comparer], Shapes] = Shapes
    ) -> None:
        super().__init__(scope, parameters, shapes)
        self._following: list[Sequence[ast.stmt]] = []  # those behind the conditions around, outermost first
        self._untaken = False  # in an arm that the bound sizes do not take
        self._given: list[Any] | None = None  # what a function of ``global`` that is followed returned
        self.body: Sequence[ast.stmt] = ()  # what is followed
        self._helpers = self._depth = 0  # how many of them were followed, and how many are now

    def lists_change(self) -> bool:
        """Return whether something may change a list in the body, by whatever name."""
        return any(_writes(node) for statement in self.body for node in ast.walk(statement))

    @abstractmethod
    def returned(self, node: ast.expr, scope: dict[str, Any]) -> None:
        """Look at what a body returns."""

    def block(self, body: Sequence[ast.stmt], scope: dict[str, Any]) -> None:
        """Follow statements, which change ``scope``.

        Raises:
            AllReturned: none of them goes on.
        """
        for index, statement in enumerate(body):
            if isinstance(statement, ast.If):
                self._asked(statement.test, scope)
                self._if(statement, scope, body[index + 1 :])
            else:
                self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        if named := bound_modules(node, self.modules):
            self.modules |= named
            return
        match node:
            case ast.Return():
                self._leave(node, scope)
            case ast.Assign(targets=targets, value=expression):
                value = self.eval(expression, scope)
                for target in targets:
                    self._bind(target, value, scope, is_new=isinstance(expression, ast.Call | ast.List | ast.Tuple))
            case ast.AnnAssign(target=target, value=ast.expr() as expression):
                self._bind(target, self.eval(expression, scope), scope)
            case ast.AugAssign(target=target, op=op, value=expression):
                current, value = self.eval(_loaded(target), scope), self.eval(expression, scope)
                if isinstance(target, ast.Name):
                    result = self._fitting(node, op, current, value)
                    stays = isinstance(current, AbstractTensor) and not isinstance(op, ast.MatMult)
                    scope[target.id] = current if stays else result
            case ast.Expr(value=expression):
                self.eval(expression, scope)
                for name in _changed(expression):
                    scope[name] = None
            case ast.For():
                self._loop(node, scope)
            case ast.FunctionDef(name=name):
                self.complete = False
                scope[name] = None

    def _leave(self, node: ast.Return, scope: dict[str, Any]) -> None:
        if self._given is not None:
            self._given.append(None if node.value is None else self.eval(node.value, scope))
        elif node.value is not None:
            self.returned(node.value, scope)
        raise AllReturned

    def _fitting(self, node: ast.AugAssign, op: ast.operator, current: Any, value: Any) -> Any:
        try:
            result = self.operate(op, current, value)
            if isinstance(op, ast.MatMult):
                return result  # a tensor of its own: no tensor is multiplied in place
            if isinstance(current, AbstractTensor) and isinstance(result, AbstractTensor):
                self._stays(current.shape, result.shape)
            return result
        except ShapeMismatch as mismatch:
            self.findings.append(misfit(node, mismatch))
        except DimError:
            pass  # a division by zero: Python says so when it runs
        return None

    def _stays(self, before: Sizes | None, after: Sizes | None) -> None:
        if before is None or after is None:
            return
        if len(before) != len(after) or any(map(self.compare.differ, before, after)):
            text = f"a tensor of {shape_text(before)} stays so, and this makes {shape_text(after)}"
            raise ShapeMismatch(f"{text}; write x = x + y")

    def _asked(self, test: ast.expr, scope: dict[str, Any]) -> None:
        try:
            condition(self.compare, self.eval(test, scope))
        except ShapeMismatch as mismatch:
            self.findings.append(misfit(test, mismatch))

    def _if(self, node: ast.If, scope: dict[str, Any], rest: Sequence[ast.stmt]) -> None:
        if self.in_one_arm:  # which arm goes with that one, nobody knows
            if leaves(node):
                raise AllReturned
            scope.update(dict.fromkeys(assigned_names([node])))
            return
        decided = self.decided(node.test, scope)
        if self.certain_only and decided is not None:
            self.block(node.body if decided else node.orelse, scope)
            return
        self._following.append(rest)
        outcomes = self._branches(node.body, node.orelse, scope, decided)
        if len(outcomes) > 1 and any(self._differ(outcomes[0].get(name), value) for name, value in outcomes[1].items()):
            self._look(node.test, outcomes, decided)
        self._following.pop()
        self._may_have_left(node)

    def _differ(self, left: Any, right: Any) -> bool:
        """Return whether two arms bind a name to tensors that certainly have different shapes or types."""
        if not isinstance(left, AbstractTensor) or not isinstance(right, AbstractTensor):
            return False
        if left.dtype != right.dtype and None not in (left.dtype, right.dtype):
            return True
        if left.shape is None or right.shape is None:
            return False
        return len(left.shape) != len(right.shape) or any(map(self.compare.differ, left.shape, right.shape))

    def _look(self, test: ast.expr, outcomes: Sequence[dict[str, Any]], decided: bool | None) -> None:
        """Go on behind a condition with what each arm binds: together they bind nothing that is known.

        Where the sizes decide the condition only one arm counts. What all costs is counted already.
        """
        if self._untaken or self.certain_only:
            return
        flops, products, complete = self.shapes.flops, list(self.shapes.matmuls), self.complete
        self.in_one_arm = True
        for holds, outcome in zip((True, False), outcomes, strict=True):
            if decided not in (None, holds):
                continue
            known = {(finding.code, finding.node) for finding in self.findings}
            found, self.findings = self.findings, []
            with contextlib.suppress(AllReturned):
                names = dict(outcome)
                for rest in reversed(self._following):
                    self.block(rest, names)
            where = f"\n  where {clipped(ast.unparse(test), 60)} {'holds' if holds else 'does not hold'}"
            new = (each for each in self.findings if (each.code, each.node) not in known)
            self.findings = [*found, *(replace(each, message=each.message + where) for each in new)]
        self.in_one_arm = False
        self.shapes.flops, self.shapes.matmuls, self.complete = flops, products, complete

    def _branches(
        self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], scope: dict[str, Any], decided: bool | None
    ) -> list[dict[str, Any]]:
        """Follow both arms, and join what they bind; return the names after each that goes on."""

        def arm(branch: Sequence[ast.stmt], holds: bool) -> dict[str, Any] | None:
            inner = dict(scope)
            untaken, self._untaken = self._untaken, self._untaken or decided not in (None, holds)
            budget.spend(len(scope) >> 2)
            try:
                self.block(branch, inner)
            except AllReturned:
                return None
            finally:
                self._untaken = untaken
            return inner

        outcomes = [
            names for names in self.arms([lambda: arm(body, True), lambda: arm(orelse, False)]) if names is not None
        ]
        if not outcomes:
            raise AllReturned
        for name in {name for outcome in outcomes for name in outcome}:
            values = [outcome.get(name) for outcome in outcomes]
            scope[name] = values[0] if all(same(values[0], v) for v in values[1:]) else None
        return outcomes

    def _loop(self, node: ast.For, scope: dict[str, Any]) -> None:
        over = self.eval(node.iter, scope)
        if self.in_one_arm and leaves(node):
            raise AllReturned
        self.complete = False
        found, rounds = list(self.findings), length_of(over)
        following, self._following = self._following, []
        for name in (*assigned_names([node]), *_changed(node)):
            scope[name] = None  # may change from one round to the next
        inner = dict(scope)
        self.bind_each(node.target, row_of(over), inner)
        with contextlib.suppress(AllReturned):
            self.block(node.body, inner)
        number = None if rounds is None else self.compare.bound(rounds)
        if (number is not None and number < 1) or (self.certain_only and (number is None or leaves(node))):
            self.findings[:] = found
        self._following = following
        for name in assigned_names([node]):
            scope[name] = None
        self._may_have_left(node)

    def _may_have_left(self, node: ast.If | ast.For) -> None:
        """Follow nothing behind what may have returned where only what certainly runs counts.

        Raises:
            AllReturned: it may have.
        """
        if self.certain_only and any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            if self._given is not None:
                self._given.append(None)
            raise AllReturned

    def helped(self, helper: GlobalFunction, args: list[Any], kwargs: Mapping[str, Any]) -> Any:
        """Follow a function of ``global`` for these arguments: what certainly fails in it fails where it is called.

        Raises:
            ShapeMismatch: something in it fails whatever the data are.
        """
        names = arguments_of(helper.node, args, kwargs)
        is_spent = self._helpers >= _MOST_HELPERS or self._depth >= _DEEPEST
        if names is None or is_spent or any(isinstance(each, ast.NamedExpr) for each in ast.walk(helper.node)):
            return None
        body = self.body
        self.body = helper.node.body if isinstance(helper.node, ast.FunctionDef) else ()
        kept = (self.findings, self.certain_only, self.in_one_arm, self._following, self._untaken, self._given)
        flops, products = self.shapes.flops, list(self.shapes.matmuls)
        self.findings, self.certain_only, self.in_one_arm, self._following, self._given = [], True, False, [], []
        self._helpers, self._depth = self._helpers + 1, self._depth + 1
        try:
            value = self._value_of(helper.node, {**self.names, **names})
            failed = self.findings
        finally:
            self.findings, self.certain_only, self.in_one_arm, self._following, self._untaken, self._given = kept
            self.shapes.flops, self.shapes.matmuls, self.body = flops, products, body
            self._depth -= 1
        if failed:
            where = clipped(ast.unparse(failed[0].node), 60)
            raise ShapeMismatch(f"in {helper.name}, `{where}`: {failed[0].message}")
        return value

    def _value_of(self, node: ast.FunctionDef | ast.Lambda, scope: dict[str, Any]) -> Any:
        if isinstance(node, ast.Lambda):
            return self.eval(node.body, scope)
        with contextlib.suppress(AllReturned):
            self.block(node.body, scope)
            self._given = [*(self._given or ()), None]  # its end is reached
        given = self._given or [None]
        return given[0] if all(same(given[0], each) for each in given[1:]) else None

    def _bind(self, target: ast.expr, value: Any, scope: dict[str, Any], *, is_new: bool = False) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = [value.values, value.indices] if isinstance(value, Pair) else value
                if isinstance(value, AbstractTensor) and value.shape:
                    items = [AbstractTensor(value.shape[1:], value.dtype)] * len(parts)
                known = isinstance(items, list | tuple) and len(items) == len(parts)
                starred = any(isinstance(part, ast.Starred) for part in parts)
                if not starred:
                    self._unpacked(target, value, len(parts), is_new=is_new)
                for index, part in enumerate(parts):
                    inner = part.value if isinstance(part, ast.Starred) else part
                    self._bind(inner, items[index] if known and not starred else None, scope)
            case ast.Subscript(value=base):
                self.eval(target, scope)
                if isinstance(base, ast.Name) and isinstance(scope.get(base.id), list | LikeItems):
                    scope[base.id] = None

    def _unpacked(self, node: ast.expr, value: Any, count: int, *, is_new: bool) -> None:
        """Report a shape, tensor or new list that has certainly more or fewer items than names: one that has a name, or
        stands in another, may have grown by another of its names.
        """
        found = None
        if isinstance(value, ShapeList) or (is_new and type(value) is list):
            found = Dim.of(len(value))
        elif isinstance(value, AbstractTensor) and value.shape:
            found = value.shape[0]
        if found is not None and self.compare.differ(found, Dim.of(count)):
            text = f"there are {found} items for {counted(count, 'name')}"
            self.findings.append(BodyFinding("STEP306", node, text))


def bound_in_expressions(block: CodeBlock) -> frozenset[str]:
    """Return the names that ``:=`` binds in a block: when, is not followed."""
    if ":=" not in block.source.text:
        return frozenset()
    nodes = (node for statement in statements(block) for node in ast.walk(statement))
    return frozenset(node.target.id for node in nodes if isinstance(node, ast.NamedExpr))


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names of lists that a node lengthens, shortens or writes into."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if (
                method in allow.CONTAINER_CHANGES
            ):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name


def _writes(node: ast.AST) -> bool:
    """Return whether a node may change a list."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.AugAssign():
            return True
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in allow.CONTAINER_CHANGES
    return False


def leaves(node: ast.stmt) -> bool:
    """Return whether a statement may leave the body or a loop around it."""
    return any(isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in ast.walk(node))


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
