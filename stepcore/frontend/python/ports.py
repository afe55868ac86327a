"""The types of a program's inputs, parameters and outputs, as annotations say them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from stepcore.fn.source import dotted, node_span
from stepcore.frontend import advice, functions
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.values import TypeMaker, Value, holds_unknown, is_unknown
from stepcore.graph.ir import OutputPort, Port
from stepcore.sizes.dim import SIZE_RULE, Dim, is_size
from stepcore.text.wording import whole
from stepcore.types import StreamType, STuple

_KINDS: Final = {"Stream": "stream", "Param": "parameter"}


class PortTypes:
    """Reads annotations; ``op_module`` is the name that the file gives to stepcore."""

    def __init__(self, el: Elaborator, op_module: str) -> None:
        self.el = el
        self.op_module = op_module

    def is_parameter(self, argument: ast.arg) -> bool:
        """Return whether an argument is annotated as a parameter."""
        match argument.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Attribute() | ast.Name() | ast.Call() as kind, *_])):
                marker = kind.func if isinstance(kind, ast.Call) else kind
                # No other member is looked up here: where the type is read, an unknown one is told.
                if isinstance(marker, ast.Name) or (isinstance(marker, ast.Attribute) and marker.attr == "Param"):
                    value = self.el.evaluate(marker)
                    return isinstance(value, TypeMaker) and value.name == "Param"
        return False

    def of_argument(self, argument: ast.arg, kind: str) -> tuple[StreamType | None, bool]:
        """Return the type of an argument, and whether stores may write it."""
        example = f"{argument.arg}: Annotated[step.{kind}, step.f32, (M, N)]"
        if argument.annotation is None:
            self.el.report("STEP222", argument, f"{argument.arg} has no type", f"write {example}")
            return None, False
        return self._annotation(argument.annotation, kind, example)

    def _annotation(self, node: ast.expr, kind: str, example: str) -> tuple[StreamType | None, bool]:
        before = len(self.el.diagnostics)
        value = self.el.evaluate(node)
        match value:
            case (TypeMaker("Annotated"), TypeMaker(name, written), element, tuple() | list() as sizes) if name == kind:
                return self._stream_type(node, element, sizes, may_be_scalar=kind == "Param"), written
        if len(self.el.diagnostics) == before and not holds_unknown(value):
            self._no_type(node, value, kind, example)
        return None, False

    def _no_type(self, node: ast.expr, value: Value, kind: str, example: str) -> None:
        """Report an annotation that is no type of a stream, by what was written where that shows what is meant."""
        text, fix = f"{self.el.text(node)} is not the type of a {_KINDS[kind]}", None
        way_out, where = f"write {example}", self.el.span(node)
        parts = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
        match value:
            case (TypeMaker("Annotated"), TypeMaker(name), _, *sizes) if name == kind and len(parts) > 2:
                if all(isinstance(size, Dim | int) and not isinstance(size, bool) for size in sizes):
                    shape = ", ".join(self.el.text(part) for part in parts[2:])
                    shape = f"({shape},)" if len(sizes) == 1 else f"({shape})"
                    written = self.el.span(parts[2]).cover(self.el.span(parts[-1]))
                    shown = ", ".join(self.el.text(part) for part in parts[2:])
                    what = "is no tuple" if len(sizes) == 1 else "are no tuple"
                    text = f"the third part of Annotated is the shape, a tuple of sizes, and {shown} {what}"
                    way_out = f"write {shape}"
                    fix = self.el.replacing(parts[2], shape) if len(sizes) == 1 else None
                    where = written
        self.el.report("STEP222", where, text, way_out, fix=fix)

    def _stream_type(
        self, node: ast.expr, element: Value, sizes: Iterable[Value], *, may_be_scalar: bool
    ) -> StreamType | None:
        if isinstance(element, tuple | list) and all(isinstance(item, functions.ELEMENTS) for item in element):
            element = STuple(element)
        sizes = list(sizes)
        others = [size for size in sizes if type(size) is not Dim]
        if is_unknown(element) or any(map(is_unknown, others)):
            return None
        if not isinstance(element, functions.ELEMENTS):
            shown = self._part(node, 1)
            text = f"the second part of Annotated is the element type, and {self.el.text(shown)} is none"
            scalar = advice.scalar_for(_last(shown))
            way_out, fix = "for example step.f32", None
            if scalar and self.el.op_module:
                way_out, fix = (
                    f"write {self.el.op_module}.{scalar}",
                    self.el.replacing(shown, f"{self.el.op_module}.{scalar}"),
                )
            self.el.report("STEP222", shown, text, way_out, fix=fix)
            return None
        if (not sizes and not may_be_scalar) or not all(
            isinstance(size, int) and not isinstance(size, bool) for size in others
        ):
            shown = self._part(node, 2)
            text = f"the third part of Annotated is the shape, a tuple of sizes, and {self.el.text(shown)} is none"
            self.el.report("STEP222", shown, text, "sizes are symbols and integers, for example (M, N)")
            return None
        wrong = next((size for size in others if not is_size(size)), None)
        if wrong is not None:
            self.el.report("STEP217", node, f"a size of this shape is {whole(wrong)}", SIZE_RULE)
            return None
        return self.el.stream_type(node, element, sizes)

    def _part(self, node: ast.expr, index: int) -> ast.expr:
        """Return one of the parts of ``Annotated[...]``, or all where they are not written here."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > index:
            return node.slice.elts[index]
        return node

    def outputs(self, node: ast.FunctionDef, parameters: Iterable[Port]) -> tuple[OutputPort, ...] | None:
        """Return what is declared behind the arrow, and the parameters that may be written; None without an arrow."""
        memory = tuple(OutputPort(p.name, p.type, memory=p.name, span=p.span) for p in parameters if p.written)
        if node.returns is None:
            return None
        if isinstance(node.returns, ast.Constant) and node.returns.value is None and (memory or _names_a_store(node)):
            return memory or None  # that a parameter may not be written is said where it is stored
        example = "-> Annotated[step.Stream, step.f32, (M, N)]"
        found = []
        for part in outputs_of(node):
            stream_type, _ = self._annotation(part, "Stream", example)
            if stream_type is None:
                return None
            found.append(OutputPort("", stream_type, span=node_span(self.el.frame.code, part)))
        return (*found, *memory)


def _last(node: ast.expr) -> str:
    """Return ``float32`` for ``torch.float32`` and ``"float32"``."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    path = dotted(node)
    return path[-1] if path is not None else ""


def outputs_of(node: ast.FunctionDef) -> list[ast.expr]:
    """Return the annotations of a program's results, one of each stream."""
    returns = node.returns
    if isinstance(returns, ast.Subscript) and isinstance(returns.value, ast.Name) and returns.value.id == "tuple":
        return list(returns.slice.elts) if isinstance(returns.slice, ast.Tuple) else [returns.slice]
    return [] if returns is None else [returns]


def _names_a_store(node: ast.FunctionDef) -> bool:
    """Return whether a program mentions an operator that stores off chip, by any of its names."""
    names = (part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in ast.walk(node))
    return any(name.endswith("OffChipStore") for name in names)
