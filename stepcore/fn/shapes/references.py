"""Shapes along the references of a task: operands that do not fit, and results of another shape than their output."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.shapes.operands import FLOATS
from stepcore.fn.shapes.statements import AllReturned, BodyStatements, bound_in_expressions
from stepcore.fn.shapes.values import AbstractTensor, Number, Pair, shape_text
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.fn.walk.finding import BodyFinding
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import Shape

Given: TypeAlias = "AbstractTensor | tuple[AbstractTensor, ...] | None"
_KINDS: Final = {"bool": "a truth value", "int": "a number", "float": "a number", "number": "a number"}


class ReferenceBlock(Record):
    """One reference: its text, the name of its output, and the tensor that it has to give, where that is known."""

    block: CodeBlock
    output: str
    shape: Shape | None = None
    dtype: str = ""


def reference_findings(
    blocks: Sequence[ReferenceBlock], scope: FnScope, tensors: Mapping[str, Given]
) -> list[list[BodyFinding]]:
    """Return what a run certainly refuses (STEP306) of each of the blocks, which share one scope.

    ``tensors`` are the inputs by name: a tensor, one for each component of a tuple, or None where nothing is known.
    """
    inference = _References(scope, None)
    inference.certain_only = True
    inference.weights.update(
        {name: list(value) if isinstance(value, tuple) else value for name, value in tensors.items()}
    )
    names = dict(inference.names)
    # What reads nothing is put there for the time being: its shape is nobody's intention.
    texts = [each.block.source.text for each in blocks]
    inference.reads = any("input_data" in text for text in texts)
    return [inference.run_block(each, names) for each in blocks]


class _References(BodyStatements):
    """Abstract interpretation of reference blocks: what is returned, or stands last, is the value of a block."""

    reads = True  # whether the references read any tensor
    _reference: ReferenceBlock

    def run_block(self, reference: ReferenceBlock, names: dict[str, Any]) -> list[BodyFinding]:
        """Interpret one block, which changes ``names``, and return its findings."""
        self.findings, self._reference = [], reference
        try:
            body = statements(reference.block)
        except BodySyntaxError:
            return []  # reported where the block is checked
        self.loose |= bound_in_expressions(reference.block)
        self.body = (*self.body, *body)
        last = body[-1] if body else None
        try:
            self.block(body[:-1] if isinstance(last, ast.Expr) else body, names)
            match last:
                case ast.Expr(value=value):
                    self.returned(value, names)
                case ast.Assign(targets=[*_, ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                    self.returned(ast.copy_location(ast.Name(target.id, ast.Load()), target), names)
        except AllReturned:
            pass
        return self.findings

    def returned(self, node: ast.expr, scope: dict[str, Any]) -> None:
        """Look at the value of a block."""
        before = len(self.findings)
        value = self.eval(node, scope)
        if len(self.findings) == before and (text := self._unlike(value)):
            self.findings.append(BodyFinding("STEP306", node, text))

    def _unlike(self, value: Any) -> str:
        """Return why a value is certainly not what the output needs, nothing where it may be."""
        where, wanted = f"the reference of {self._reference.output}", self._reference.shape
        if not isinstance(value, AbstractTensor):
            kind = _kind(value)
            way_out = "; one tensor is wanted" if kind.startswith("two") else "; a tensor is wanted"
            return f"{where} is {kind}{way_out}" if kind else ""
        found = value.shape
        if wanted is None or not self.reads:
            return ""
        if found is not None and (len(found) != len(wanted) or any(map(self.compare.differ, found, wanted))):
            text = f"{where} has another shape than its output, which no program gives"
            return f"{text}\n  expected {shape_text(wanted)}\n  found    {shape_text(found)}"
        declared = self._reference.dtype
        if value.dtype is None or value.dtype == declared or {value.dtype, declared} <= {*FLOATS}:
            return ""
        text = f"{where} has another element type than its output, which no program gives"
        return f"{text}\n  expected {declared}\n  found    {value.dtype}"


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "a truth value"
        case Dim():
            return "a number"
        case Number(kind=kind):
            return _KINDS.get(kind, "")  # what the data decide is perhaps a tensor
        case Pair():
            return "two tensors (values and indices)"
        case list() | tuple():
            return f"a list of {counted(len(value), 'item')}"
    return ""
