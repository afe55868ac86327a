"""Symbolic shape inference over the closed language, without torch.

Unknown shapes spread silently: a finding (STEP306) appears only where the sizes that a run binds certainly differ.
The same walk counts floating-point operations and matrix products for the metrics.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.members import no_tensor
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.statements import AllReturned, BodyStatements, bound_in_expressions
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    Components,
    Number,
    Pair,
    Sizes,
    shape_text,
)
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.fn.walk.finding import BodyFinding
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
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
    inference = _Inference(decl, scope, parameters)
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
    inference = _Inference(decl, scope, parameters, shapes)
    inference.run_body()
    known = not inference.findings and inference.complete
    return FnCost(inference.shapes.flops if known else None, tuple(inference.shapes.matmuls))


class _Inference(BodyStatements):
    """Abstract interpretation of one body."""

    def __init__(
        self,
        decl: FnDecl,
        scope: FnScope,
        parameters: Mapping[str, Sizes] | None,
        shapes: Callable[[Comparer], Shapes] = Shapes,
    ) -> None:
        super().__init__(scope, parameters, shapes)
        self.decl = decl

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
        try:
            body = statements(self.decl.body)
        except BodySyntaxError:
            self.complete = False
            return
        self.loose, self.body = bound_in_expressions(self.decl.body), body
        try:
            self.block(body, scope)
        except AllReturned:
            return

    def returned(self, node: ast.expr, scope: dict[str, Any]) -> None:
        """Look at the components of a result."""
        if isinstance(node, ast.IfExp) and not self.in_one_arm:
            self.eval(node.test, scope)
            self.arms([lambda: self.returned(node.body, scope), lambda: self.returned(node.orelse, scope)])
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
