"""Symbolic shape inference over the closed language, without torch.

Unknown shapes spread silently: a finding (STEP306) appears only where the sizes that a run binds certainly differ.
The same walk counts floating-point operations and matrix products for the metrics.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepcore.dim import DEFAULT_SIZES, Dim, DimError
from stepcore.fn import allow
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.prelude import assigned_names, constant_bindings
from stepcore.fn.shape_index import index_shape
from stepcore.fn.shape_names import constant_value, member, prelude_values
from stepcore.fn.shape_ops import Shapes
from stepcore.fn.shape_values import AbstractTensor, Callee, Comparer, Number, Pair, ShapeMismatch, Sizes, shape_text
from stepcore.fn.source import BodySyntaxError, dotted, statements
from stepcore.fn.walk import Finding
from stepcore.types import components, dtype_of, element_shape

_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "pow", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.USub: "neg", ast.UAdd: "positive", ast.Invert: "bitwise_not",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FnCost:
    """Work of one call. ``flops`` is None where a shape is unknown; ``matmuls`` are (columns, bytes of the weight)."""

    flops: Dim | None
    matmuls: tuple[tuple[Dim, Dim], ...]


def shape_findings(decl: FnDecl, scope: FnScope, parameters: Mapping[str, Sizes] | None = None) -> list[Finding]:
    """Return the operands that do not fit and the returned shapes that differ from the declared ones (STEP306)."""
    inference = _Inference(decl, scope, parameters or {})
    inference.run_body()
    return inference.findings


def fn_cost(decl: FnDecl, scope: FnScope, parameters: Mapping[str, Sizes] | None = None) -> FnCost:
    """Return the operations and matrix products of one call; ``parameters`` are tensor shapes, outermost first."""
    inference = _Inference(decl, scope, parameters or {})
    inference.run_body()
    known = not inference.findings and inference.complete
    return FnCost(inference.shapes.flops if known else None, tuple(inference.shapes.matmuls))


class _Return(Exception):
    """Every path has returned."""


class _Inference:
    """Abstract interpretation of one body."""

    def __init__(self, decl: FnDecl, scope: FnScope, parameters: Mapping[str, Sizes]) -> None:
        self.decl = decl
        self.scope = scope
        self.findings: list[Finding] = []
        self.complete = True
        sizes = dict(scope.sizes) or DEFAULT_SIZES
        bindings = {**sizes, **constant_bindings(scope.prelude, sizes)}
        self.compare = Comparer(bindings)
        self.shapes = Shapes(self.compare)
        self.modules = dict(scope.modules)
        self.parameters = parameters
        names = {f"{name}_value": Dim.symbol(name) for name in (*allow.PREDECLARED_SYMBOLS, *scope.symbols, *bindings)}
        self.names: dict[str, Any] = dict(names)
        self.names |= prelude_values(scope.prelude, self.names, bindings, self.modules)
        if scope.bare_parameters:
            self.names |= {name: self._parameter(name) for name in scope.parameters}

    def _parameter(self, name: str) -> AbstractTensor:
        return AbstractTensor(self.parameters.get(name), "fp32", weight=True)

    def run_body(self) -> None:
        """Interpret the body; findings are collected."""
        groups = [
            [AbstractTensor(element_shape(item), dtype_of(item)) for item in components(element)]
            for element in ([self.decl.output] if self.decl.has_state else []) + [self.decl.input]
        ]
        scope = {**self.names, **dict(zip(self.decl.body.arguments, groups, strict=False))}
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
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        match node:
            case ast.Return(value=value):
                if value is not None:
                    self._return(value, scope)
                raise _Return
            case ast.Assign(targets=targets, value=expression):
                value = self.eval(expression, scope)
                for target in targets:
                    self._bind(target, value, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as expression):
                self._bind(target, self.eval(expression, scope), scope)
            case ast.AugAssign(target=target, op=op, value=expression):
                current, value = self.eval(_loaded(target), scope), self.eval(expression, scope)
                if isinstance(target, ast.Name):
                    result = self._fitting(node, op, current, value)
                    scope[target.id] = current if isinstance(current, AbstractTensor) else result
            case ast.Expr(value=expression):
                self.eval(expression, scope)
            case ast.If(test=test, body=body, orelse=orelse):
                self.eval(test, scope)
                self._branches(body, orelse, scope)
            case ast.For():
                self._loop(node, scope)
            case ast.FunctionDef(name=name):
                self.complete = False
                scope[name] = None

    def _fitting(self, node: ast.AugAssign, op: ast.operator, current: Any, value: Any) -> Any:
        try:
            return self._operate(op, current, value)
        except ShapeMismatch as mismatch:
            self.findings.append(Finding("STEP306", node, mismatch.message))
        except DimError:
            pass  # a division by zero: Python says so when it runs
        return None

    def _branches(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], scope: dict[str, Any]) -> None:
        outcomes = []
        for branch in (body, orelse):
            inner = dict(scope)
            try:
                self._block(branch, inner)
            except _Return:
                continue
            outcomes.append(inner)
        if not outcomes:
            raise _Return
        for name in {name for outcome in outcomes for name in outcome}:
            values = [outcome.get(name) for outcome in outcomes]
            scope[name] = values[0] if all(_same(values[0], v) for v in values[1:]) else None

    def _loop(self, node: ast.For, scope: dict[str, Any]) -> None:
        self.eval(node.iter, scope)
        self.complete = False
        for name in assigned_names([node]):
            scope[name] = None  # may change from one round to the next
        with contextlib.suppress(_Return):
            self._block(node.body, dict(scope))
        for name in assigned_names([node]):
            scope[name] = None

    def _bind(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = [value.values, value.indices] if isinstance(value, Pair) else value
                if isinstance(value, AbstractTensor) and value.shape:
                    items = [AbstractTensor(value.shape[1:], value.dtype)] * len(parts)
                known = isinstance(items, list | tuple) and len(items) == len(parts)
                starred = any(isinstance(part, ast.Starred) for part in parts)
                for index, part in enumerate(parts):
                    inner = part.value if isinstance(part, ast.Starred) else part
                    self._bind(inner, items[index] if known and not starred else None, scope)
            case ast.Subscript(value=base, slice=index):
                self.eval(base, scope)
                self.eval(index, scope)

    def _return(self, node: ast.expr, scope: dict[str, Any]) -> None:
        if isinstance(node, ast.IfExp):
            self.eval(node.test, scope)
            self._return(node.body, scope)
            self._return(node.orelse, scope)
            return
        before = len(self.findings)
        value = self.eval(node, scope)
        if len(self.findings) == before:
            self._returned(node, value)

    def _returned(self, node: ast.expr, value: Any) -> None:
        count = len(components(self.decl.output))
        if isinstance(value, AbstractTensor):
            what = "a list of one tensor per component"
            self.findings.append(Finding("STEP305", node, f"returns a tensor; {what} is wanted: write [...]"))
            return
        if not isinstance(value, list | tuple) or len(value) != count:
            if isinstance(value, list | tuple) and not isinstance(node, ast.List | ast.Tuple):
                text = f"returns {len(value)} components; the declared output {self.decl.output} needs {count}"
                self.findings.append(Finding("STEP305", node, text))
            return
        places = node.elts if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == count else [node] * count
        for index, item in enumerate(components(self.decl.output)):
            self._component(places[index], value[index], index, element_shape(item), dtype_of(item))

    def _component(self, node: ast.expr, value: Any, index: int, shape: tuple[Dim, ...], dtype: str) -> None:
        where = f"component {index}" if len(components(self.decl.output)) > 1 else "the result"
        if isinstance(value, Number | Dim):
            self.findings.append(
                Finding("STEP306", node, f"{where} is a number; a tensor of {shape_text(shape)} is wanted")
            )
            return
        if not isinstance(value, AbstractTensor):
            return
        found = value.shape
        if found is not None and (len(found) != len(shape) or any(map(self.compare.differ, found, shape))):
            text = f"{where} has another shape than declared"
            text += f"\n  expected {shape_text(shape)}\n  found    {shape_text(found)}"
            self.findings.append(Finding("STEP306", node, text))
        elif value.dtype is not None and value.dtype != dtype:
            text = f"{where} has another element type than declared\n  expected {dtype}\n  found    {value.dtype}"
            self.findings.append(Finding("STEP306", node, text))

    # Expressions ------------------------------------------------------------------------------------------------

    def eval(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        """Return what is known of an expression; operands that do not fit are reported once."""
        before = len(self.findings)
        try:
            return self._eval(node, scope)
        except ShapeMismatch as mismatch:
            if len(self.findings) == before:
                self.findings.append(Finding("STEP306", node, mismatch.message))
            return None
        except DimError:
            return None

    def _eval(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return constant_value(value)
            case ast.Name(id=name):
                return scope.get(name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operate(op, self.eval(left, scope), self.eval(right, scope))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.eval(operand, scope))
            case ast.Compare(left=left, comparators=others):
                values = [self.eval(left, scope), *(self.eval(other, scope) for other in others)]
                return self._compare(values)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                values = [self.eval(p.value if isinstance(p, ast.Starred) else p, scope) for p in parts]
                return None if any(isinstance(part, ast.Starred) for part in parts) else values
            case ast.Subscript(value=base, slice=index):
                return self._subscript(base, index, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.eval(test, scope)
                yes, no = self.eval(body, scope), self.eval(orelse, scope)
                return yes if _same(yes, no) else None
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, scope)
        self.complete = False
        return None

    def _operate(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.MatMult):
            return self.shapes.matmul(left, right)
        name = _OPERATORS.get(type(op))
        if isinstance(left, AbstractTensor) or isinstance(right, AbstractTensor):
            return None if name is None else self.shapes.pointwise(name, (left, right))
        if isinstance(left, Dim) and isinstance(right, Dim):
            return _integers(name, left, right)
        if isinstance(left, list) and isinstance(right, list) and name == "add":
            return left + right
        if isinstance(left, Dim | Number) and isinstance(right, Dim | Number):
            return Number()
        return None

    def _unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(op, ast.Not):
            return None
        if isinstance(value, Dim):
            return -value if isinstance(op, ast.USub) else value
        if isinstance(value, AbstractTensor):
            return self.shapes.pointwise(_OPERATORS[type(op)], (value,))
        return value if isinstance(value, Number) else None

    def _compare(self, values: list[Any]) -> Any:
        if len(values) == 2 and any(isinstance(value, AbstractTensor) for value in values):
            return self.shapes.pointwise("lt", values)
        return None

    def _subscript(self, base: ast.expr, index: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(base, ast.Name) and base.id == "input_data" and isinstance(index, ast.Constant):
            return self._parameter(str(index.value))
        value = self.eval(base, scope)
        if isinstance(value, list | tuple):
            place = self.eval(index, scope)
            number = place.constant if isinstance(place, Dim) else None
            return value[number] if number is not None and -len(value) <= number < len(value) else None
        if isinstance(value, Pair):
            place = self.eval(index, scope)
            return value.values if place == 0 else value.indices if place == 1 else None
        if isinstance(value, AbstractTensor):
            return index_shape(self, value, index, scope)
        return None

    def _attribute(self, node: ast.Attribute, scope: dict[str, Any]) -> Any:
        path = dotted(node)
        if path is not None and path[0] in self.modules and path[0] not in scope:
            return member(self.modules[path[0]], path[1:])
        value = self.eval(node.value, scope)
        name = node.attr
        if isinstance(value, Pair):
            return {"values": value.values, "indices": value.indices}.get(name)
        if not isinstance(value, AbstractTensor):
            return None
        if name in ("T", "mT"):
            if value.shape is None or (name == "mT" and len(value.shape) < 2):
                return AbstractTensor(None, value.dtype)
            shape = (
                tuple(reversed(value.shape)) if name == "T" else (*value.shape[:-2], value.shape[-1], value.shape[-2])
            )
            return AbstractTensor(shape, value.dtype)
        if name == "shape":
            return None if value.shape is None else list(value.shape)
        if name == "dtype":
            return value.dtype
        if name == "ndim":
            return None if value.shape is None else Dim.of(len(value.shape))
        return Callee(name, value, bound=True) if name in allow.TENSOR_METHODS else None

    def _call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        function = self._callee(node.func, scope)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            self.complete = False
            return None
        args = [self.eval(argument, scope) for argument in node.args]
        kwargs = {k.arg: self.eval(k.value, scope) for k in node.keywords if k.arg is not None}
        if not isinstance(function, Callee):
            self.complete = False
            return self._builtin(function, args) if isinstance(function, str) else None
        if function.bound:
            args.insert(0, function.receiver)
        return self.shapes.apply(function.name, args, kwargs)

    def _callee(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(node, ast.Name) and node.id not in scope and node.id in allow.BUILTINS:
            return node.id
        return self.eval(node, scope)

    def _builtin(self, name: str, args: list[Any]) -> Any:
        if name == "len" and args:
            if isinstance(args[0], list | tuple):
                return Dim.of(len(args[0]))
            return args[0].shape[0] if isinstance(args[0], AbstractTensor) and args[0].shape else None
        if name == "abs" and args and isinstance(args[0], AbstractTensor):
            return self.shapes.pointwise("abs", args)
        if name == "float":
            return Number()
        return None

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: dict[str, Any]) -> Any:
        inner = dict(scope)
        for generator in node.generators:
            self.eval(generator.iter, inner)
            for name in ast.walk(generator.target):
                if isinstance(name, ast.Name):
                    inner[name.id] = None
        self.complete = False
        self.eval(node.elt, inner)
        return None


def _integers(name: str | None, left: Dim, right: Dim) -> Any:
    match name:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "floor_divide":
            return left // right
        case "div":
            return Number()
    return Number("int") if name != "pow" else Number()


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
