"""Symbolic shape inference over the closed language, without torch.

Unknown shapes spread silently: a finding (STEP306) appears only where the sizes that a run binds certainly differ.
The same walk counts floating-point operations and matrix products for the metrics.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn import allow
from stepcore.fn.aliases import bound_modules
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.members import no_tensor
from stepcore.fn.prelude import assigned_names
from stepcore.fn.shapes.expressions import Expressions, misfit, same
from stepcore.fn.shapes.operands import condition
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    Components,
    Number,
    Pair,
    ShapeList,
    ShapeMismatch,
    Sizes,
    shape_text,
)
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.fn.walk.finding import BodyFinding
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.wording import clipped, counted
from stepcore.types import components, dtype_of, element_shape

_OF_KIND: Final = {
    "bool": "a truth value of Python",
    "any": "a number where that is taken, and no tensor (torch.clamp gives one always)",
}
_SPELT_OUT: Final = 4  # components for which a way out is written


@dataclass(frozen=True, slots=True)
class FnCost:
    """Work of one call. ``flops`` is None where a shape is unknown; ``matmuls`` are (columns, bytes of the weight)."""

    flops: Dim | None
    matmuls: tuple[tuple[Dim, Dim], ...]


def shape_findings(decl: FnDecl, scope: FnScope, parameters: Mapping[str, Sizes] | None = None) -> list[BodyFinding]:
    """Return the operands that do not fit and the returned shapes that differ from the declared ones (STEP306)."""
    inference = _Inference(decl, scope, parameters or {})
    inference.run_body()
    return inference.findings


def fn_cost(
    decl: FnDecl,
    scope: FnScope,
    parameters: Mapping[str, Sizes] | None = None,
    shapes: Callable[[Comparer], Shapes] = Shapes,
) -> FnCost:
    """Return the operations and matrix products of one call; ``parameters`` are tensor shapes, outermost first.

    ``shapes`` counts them: the common one counts 1 for each element of a result, as the metrics do.
    """
    inference = _Inference(decl, scope, parameters or {}, shapes)
    inference.run_body()
    known = not inference.findings and inference.complete
    return FnCost(inference.shapes.flops if known else None, tuple(inference.shapes.matmuls))


class _Return(Exception):
    """Every path has returned."""


class _Inference(Expressions):
    """Abstract interpretation of one body."""

    _following: list[Sequence[ast.stmt]]  # the statements behind the conditions around, outermost first
    _untaken: bool  # in an arm that the bound sizes do not take

    def run_body(self) -> None:
        """Interpret the body; findings are collected."""
        elements = ([self.decl.output] if self.decl.has_state else []) + [self.decl.input]
        groups = {
            name: Components(
                name, [AbstractTensor(element_shape(item), dtype_of(item)) for item in components(element)]
            )
            for name, element in zip(self.decl.body.arguments, elements, strict=False)
        }
        scope = {**self.names, **groups}
        self._following, self._untaken = [], False
        try:
            body = statements(self.decl.body)
        except BodySyntaxError:
            self.complete = False
            return
        try:
            self._block(body, scope)
        except _Return:
            return

    # Statements -------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], scope: dict[str, Any]) -> None:
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
            case ast.Return(value=value):
                if value is not None:
                    self._return(value, scope)
                raise _Return
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
                    scope[target.id] = current if isinstance(current, AbstractTensor) else result
            case ast.Expr(value=expression):
                self.eval(expression, scope)
                for name in _changed(expression):
                    scope[name] = None
            case ast.For():
                self._loop(node, scope)
            case ast.FunctionDef(name=name):
                self.complete = False
                scope[name] = None

    def _fitting(self, node: ast.AugAssign, op: ast.operator, current: Any, value: Any) -> Any:
        try:
            result = self.operate(op, current, value)
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
                raise _Return
            scope.update(dict.fromkeys(assigned_names([node])))
            return
        decided = self.decided(node.test, scope)
        self._following.append(rest)
        outcomes = self._branches(node.body, node.orelse, scope, decided)
        if len(outcomes) > 1 and any(self._differ(outcomes[0].get(name), value) for name, value in outcomes[1].items()):
            self._look(node.test, outcomes, decided)
        self._following.pop()

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
        if self._untaken:
            return
        flops, products, complete = self.shapes.flops, list(self.shapes.matmuls), self.complete
        self.in_one_arm = True
        for holds, outcome in zip((True, False), outcomes, strict=True):
            if decided not in (None, holds):
                continue
            known = {(finding.code, finding.node) for finding in self.findings}
            found, self.findings = self.findings, []
            with contextlib.suppress(_Return):
                names = dict(outcome)
                for rest in reversed(self._following):
                    self._block(rest, names)
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
                self._block(branch, inner)
            except _Return:
                return None
            finally:
                self._untaken = untaken
            return inner

        outcomes = [
            names for names in self.arms([lambda: arm(body, True), lambda: arm(orelse, False)]) if names is not None
        ]
        if not outcomes:
            raise _Return
        for name in {name for outcome in outcomes for name in outcome}:
            values = [outcome.get(name) for outcome in outcomes]
            scope[name] = values[0] if all(same(values[0], v) for v in values[1:]) else None
        return outcomes

    def _loop(self, node: ast.For, scope: dict[str, Any]) -> None:
        self.eval(node.iter, scope)
        if self.in_one_arm and leaves(node):
            raise _Return
        self.complete = False
        following, self._following = self._following, []
        for name in (*assigned_names([node]), *_changed(node)):
            scope[name] = None  # may change from one round to the next
        with contextlib.suppress(_Return):
            self._block(node.body, dict(scope))
        self._following = following
        for name in assigned_names([node]):
            scope[name] = None

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
                if isinstance(base, ast.Name) and isinstance(scope.get(base.id), list):
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

    def _return(self, node: ast.expr, scope: dict[str, Any]) -> None:
        if isinstance(node, ast.IfExp) and not self.in_one_arm:
            self.eval(node.test, scope)
            self.arms([lambda: self._return(node.body, scope), lambda: self._return(node.orelse, scope)])
            return
        before = len(self.findings)
        value = self.eval(node, scope)
        if len(self.findings) == before:
            self._returned(node, value)
            if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == len(components(self.decl.output)):
                self._chosen(node.elts, value, scope)

    def _chosen(self, parts: Sequence[ast.expr], values: Sequence[Any], scope: dict[str, Any]) -> None:
        """Look at both arms of components that are a choice, which as a whole have no shape where the arms differ."""
        flops, products = self.shapes.flops, list(self.shapes.matmuls)  # counted already
        for index, (part, item) in enumerate(zip(parts, components(self.decl.output), strict=True)):
            if isinstance(part, ast.IfExp) and values[index] is None and not self.in_one_arm:
                for arm in _arms(part):
                    self._component(arm, self.eval(arm, scope), index, element_shape(item), dtype_of(item))
        self.shapes.flops, self.shapes.matmuls = flops, products

    def _returned(self, node: ast.expr, value: Any) -> None:
        name, count = self.decl.func_name, len(components(self.decl.output))
        if isinstance(value, AbstractTensor):
            what = "a list of one tensor per component"
            self.findings.append(
                BodyFinding("STEP305", node, f"{name} returns a tensor; {what} is wanted: write [...]")
            )
            return
        if not isinstance(value, list | tuple) or len(value) != count:
            if isinstance(value, list | tuple) and not isinstance(node, ast.List | ast.Tuple):
                found = counted(len(value), "component")
                text = f"{name} returns {found}; its declared output {self.decl.output} needs {count}"
                way_out = self._of_components(node, range(count))
                text += f"; write [{way_out}]" if way_out else ""
                self.findings.append(BodyFinding("STEP305", node, text))
            return
        places = node.elts if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == count else [node] * count
        for place in places:
            if isinstance(place, ast.Constant) and place.value is None:
                self.findings.append(BodyFinding("STEP306", place, f"{name} returns None where a tensor is wanted"))
        for index, item in enumerate(components(self.decl.output)):
            self._component(places[index], value[index], index, element_shape(item), dtype_of(item))

    def _of_components(self, node: ast.expr, places: Sequence[int]) -> str:
        """Return an operation on whole arguments, such as ``state + input``, written for components; else nothing."""
        if not isinstance(node, ast.BinOp) or len(places) > _SPELT_OUT:
            return ""
        arguments = self.decl.body.arguments
        of_each = [_OfComponent(arguments, place).visit(copy.deepcopy(node)) for place in places]
        return ", ".join(map(ast.unparse, of_each)) if ast.dump(of_each[0]) != ast.dump(node) else ""

    def _component(self, node: ast.expr, value: Any, index: int, shape: tuple[Dim, ...], dtype: str) -> None:
        part = f"component {index} of " if len(components(self.decl.output)) > 1 else ""
        where = f"{part}the result of {self.decl.func_name}"
        if isinstance(value, Number | Dim | bool):
            kind = "bool" if isinstance(value, bool) else value.kind if isinstance(value, Number) else ""
            text = f"{where} is {_OF_KIND.get(kind, 'a number')}"
            self.findings.append(BodyFinding("STEP306", node, f"{text}; a tensor of {shape_text(shape)} is wanted"))
            return
        if isinstance(value, Pair):
            text = f"{where} is two tensors (values and indices), and one is wanted; write {ast.unparse(node)}.values"
            self.findings.append(BodyFinding("STEP306", node, text))
        elif isinstance(value, Components):
            self.findings.append(BodyFinding("STEP308", node, no_tensor(value.name, len(value))))
        elif isinstance(value, list | tuple):
            way_out = self._of_components(node, [index]) or "a tensor"
            text = f"{where} is a list of {len(value)}, and a tensor is wanted; write {way_out}"
            self.findings.append(BodyFinding("STEP308", node, text))
        if not isinstance(value, AbstractTensor):
            return
        found = value.shape
        if found is not None and (len(found) != len(shape) or any(map(self.compare.differ, found, shape))):
            text = f"{where} has another shape than declared"
            text += f"\n  expected {shape_text(shape)}\n  found    {shape_text(found)}"
            self.findings.append(BodyFinding("STEP306", node, text))
        elif value.dtype is not None and value.dtype != dtype:
            text = f"{where} has another element type than declared\n  expected {dtype}\n  found    {value.dtype}"
            self.findings.append(BodyFinding("STEP306", node, text))


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


def leaves(node: ast.stmt) -> bool:
    """Return whether a statement may leave the body or a loop around it."""
    return any(isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in ast.walk(node))


def _arms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from (*_arms(node.body), *_arms(node.orelse))
    else:
        yield node


class _OfComponent(ast.NodeTransformer):
    """Puts one component of each argument where the argument stands as a whole."""

    def __init__(self, arguments: Sequence[str], index: int) -> None:
        self.arguments = arguments
        self.index = index

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        """Leave what is a component already."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Index an argument."""
        if node.id not in self.arguments:
            return node
        return ast.Subscript(node, ast.Constant(self.index), ast.Load())


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
