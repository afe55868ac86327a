"""The type checker: applies each operator's typing rule along the graph, and compares with the declared outputs.

A stream whose type is unknown because of an earlier finding stays quiet: one mistake gives one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from stepcore.findings import budget
from stepcore.findings.budget import Budget, OutOfBudget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.values import Scope, named_types
from stepcore.graph.ir import Graph, Node, OutputPort, ProgramSpec
from stepcore.graph.typed import has_stores
from stepcore.ops.base import Operand, RuleError, TypingContext, element_mismatch, mismatch, need_common
from stepcore.records import make
from stepcore.sizes.dim import ANY, DimError, Facts
from stepcore.text.span import Span
from stepcore.text.wording import clipped, counted
from stepcore.types import Shape, StreamType, element_sizes, same_element, same_shape, too_large

# What typing one operator costs; a message of a mismatch may show whole types.
_NODE_STEPS: Final = 8
MAX_MESSAGE: Final = 4000
_MAX_NAMES: Final = 200  # characters of a list of names
_HEAD: Final = len("  expected ")  # and of "  found    "


def type_graph(graph: Graph, spec: ProgramSpec, ctx: TypingContext) -> Iterator[Diagnostic]:
    """Set the type of every stream of ``graph`` that can be typed and yield what is wrong.

    Raises:
        OutOfBudget: the document's budget ended.
    """
    ctx.program, ctx.ports = graph, spec.inputs
    reported: set[tuple[str, Span]] = set()  # what stands in a loop is typed once for each round
    own = budget.current()
    for node in graph.nodes:
        item = _typed(graph, node, ctx, own)
        if item is not None and (item.code, item.span) not in reported:
            reported.add((item.code, item.span))
            yield item
    if spec.outputs is not None and (graph.returns or has_stores(graph)):
        yield from _check_outputs(graph, spec, spec.returned or (), _compared(spec, ctx))


def _typed(graph: Graph, node: Node, ctx: TypingContext, own: Budget | None) -> Diagnostic | None:
    try:
        if own is not None:
            own.left -= _NODE_STEPS
            if own.left < 0:
                own.spend(0)
        found = _type_node(graph, node, ctx)
        if found is not None and own is not None:
            own.spend(len(found.message) >> 4)
    except OutOfBudget as error:
        raise error.at(node.op_span) from None
    return found and replace(found, message=clipped(found.message, MAX_MESSAGE))


def _type_node(graph: Graph, node: Node, ctx: TypingContext) -> Diagnostic | None:
    if node.op is None:
        return None
    operands = []
    for index in node.inputs:
        stream = graph.streams[index]
        if stream.type is None:
            return None
        operands.append(make(Operand, (stream.type, stream.name or "the input", index)))
    try:
        need_common(node.op, ctx)
        ctx.making = node.outputs
        types = node.op.infer(operands, ctx)
    except RuleError as error:
        return Diagnostic(error.code, _subject_span(node, error), error.message)
    except DimError as error:
        return Diagnostic("STEP211", node.op_span, f"{node.written}: {error}")
    for stream_type in types:
        if problem := too_large(stream_type):
            return Diagnostic("STEP221", node.op_span, f"the result of {node.written} has {problem}")
    for index, stream_type in zip(node.outputs, types, strict=True):
        graph.streams[index].type = stream_type
    node.op = ctx.take_settled(node.op)
    return None


def _subject_span(node: Node, error: RuleError) -> Span:
    subject = error.subject
    if subject.kind == "param":
        return node.param_spans.get(subject.name, node.op_span)
    if subject.kind == "input":
        return node.input_spans[subject.index]
    return node.op_span


def _compared(spec: ProgramSpec, ctx: TypingContext) -> Facts:
    """Return what compares declared outputs with found ones."""
    if not any(output.type.is_open for output in spec.returned or ()):
        return ctx.facts
    from stepcore.open_types.fits import Fitting  # most programs have static sizes

    return Fitting(ctx.facts, (port.type for port in spec.inputs))


def _check_outputs(
    graph: Graph, spec: ProgramSpec, outputs: tuple[OutputPort, ...], facts: Facts
) -> Iterable[Diagnostic]:
    if len(graph.returns) != len(outputs):
        if graph.complete:
            spans = graph.return_spans
            where = spans[0].cover(spans[-1]) if spans else spec.span
            declared = "one is" if len(outputs) == 1 else f"{len(outputs) or 'none'} {'are' if outputs else 'is'}"
            names = clipped(", ".join(output.name for output in outputs if output.name), _MAX_NAMES)
            given = _streams(len(spans)) if spans else "no stream"
            text = f"the program returns {given}, but {declared} declared"
            yield Diagnostic("STEP213", where, f"{text}: {names}" if names else text)
        return
    for number, (index, where, output) in enumerate(zip(graph.returns, graph.return_spans, outputs, strict=True), 1):
        found = graph.streams[index].type
        if found is not None:
            unnamed = "the output" if len(outputs) == 1 else f"output {number}"
            name = f"output {output.name}" if output.name else unnamed
            yield from _check_output(name, output.type, found, where, facts)


def with_names(found: Iterable[Diagnostic], scope: Scope) -> Iterator[Diagnostic]:
    """Yield findings, those about element types with the names of ``scope`` before what these stand for:
    ``ROW = Buffer(...)``.
    """
    known: list[tuple[str, str]] | None = None
    for item in found:
        if about(item.code).subject is Subject.ELEMENT:
            if known is None:
                names = ((str(element), name) for element, name in named_types(scope).items())
                known = sorted(names, key=lambda pair: -len(pair[0]))
            yield _named(item, known)
        else:
            yield item


def _named(found: Diagnostic, known: Sequence[tuple[str, str]]) -> Diagnostic:
    lines = found.message.split("\n")
    for number, line in enumerate(lines):
        head, text = line[:_HEAD], line[_HEAD:]
        if head.strip() in ("expected", "found"):
            named = text
            for written, name in known:
                named = named.replace(written, name)
            lines[number] = head + (text if named == text else f"{named} = {text}")
    return replace(found, message="\n".join(lines))


def _streams(count: int) -> str:
    return "one stream" if count == 1 else f"{count} streams"


def _check_output(name: str, wanted: StreamType, found: StreamType, where: Span, facts: Facts) -> Iterable[Diagnostic]:
    if not same_element(wanted.element, found.element, facts):
        if any(name[0] == ANY for size in element_sizes(found.element) for name in size.symbols()):
            return  # nothing says what that is, which was said of the function
        text = element_mismatch(f"{name} holds other elements than declared", wanted.element, found.element)
        yield Diagnostic("STEP214", where, text)
    elif not same_shape(wanted.shape, found.shape, facts):
        text = mismatch(f"{name} has another shape than declared", wanted.shape, found.shape, facts)
        text += _way_between(wanted.shape, found.shape)
        yield Diagnostic("STEP215", where, text)


def _way_between(wanted: Shape, found: Shape) -> str:
    """Return as a line what makes one shape of the other, or an empty text where that is not plain."""
    more = len(found) - len(wanted)
    if more > 0 and found[more:] == wanted:
        folded = "dimension" if more == 1 else counted(more, "dimension")
        return f"\n  Accum(fn=..., b={more}) folds the innermost {folded}"
    if more < 0 and wanted[-more:] == found:
        return f"\n  {counted(-more, 'innermost dimension')} too few: was too much folded or buffered?"
    if len(found) > 1 and found == wanted[::-1]:
        return "\n  sizes are written innermost first"
    return ""
