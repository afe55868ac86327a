"""What is said of a stream that has to hold more than its FIFO does, and the fix: a buffer holds it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from stepcore.check.copies import ExpressionPlace, FreshNames, NoFix, first_statement, literal, text_at
from stepcore.check.depths import DepthWaiting, waits
from stepcore.check.fifos import call_edit
from stepcore.check.rewriting import base_name, enclosed, is_pure, only_applies, operator_text, text_before
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.fn.decl import FnDecl
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import Use
from stepcore.graph.ir import Graph, Node, ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.base import DEPTH
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span
from stepcore.text.wording import counted
from stepcore.types import Buffer

TryFix: TypeAlias = Callable[[Fix], bool]

_MOST_NODES: Final = 64  # of a program of which is remembered what waits in it
_MOST_PROGRAMS: Final = 256  # that are remembered, with neither their texts nor their functions
_known: dict[Hashable, tuple[DepthWaiting, ...]] = {}


def waiting_diagnostics(
    el: Elaborator, graph: TypedGraph, spec: ProgramSpec, takes_lines: bool, try_fix: TryFix | None
) -> Iterator[Diagnostic]:
    """Yield a warning for each stream of a well-typed program that has to wait for a fold without a buffer.

    ``graph`` is that of ``el``, typed. ``takes_lines`` says whether the text around the program survives further lines;
    a fix that does more than to add some is tried out.
    """
    known: set[Span] = set()
    found = _waits(graph, el.bindings, dict(spec.fixed))
    names = FreshNames("\n".join({use.context.code.text: None for use in el.uses}) if found and try_fix else "")
    for waiting in found:
        span = el.graph.streams[waiting.stream].span
        if span not in known:  # what stands in a loop or a helper is said once
            known.add(span)
            fix = _fix(el, waiting, names, takes_lines, try_fix) if try_fix is not None else None
            yield _finding(el.graph, waiting, fix)


def _waits(graph: TypedGraph, bindings: Mapping[str, int], fixed: Mapping[str, int]) -> tuple[DepthWaiting, ...]:
    """Return what :func:`waits` does, remembered: most that is checked has the streams of what was checked before."""
    if len(graph.nodes) > _MOST_NODES:
        return tuple(waits(graph, bindings, fixed))
    operators = [(type(node.op), _sizes(node), node.inputs, node.outputs) for node in graph.nodes]
    types = [stream.type for stream in graph.streams]
    key = (tuple(operators), tuple(types), tuple(bindings.items()), tuple(fixed))
    found = _known.get(key)
    if found is None:
        found = tuple(waits(graph, bindings, fixed))
        if len(_known) >= _MOST_PROGRAMS:
            _known.clear()
        _known[key] = found
    return found


def _sizes(node: TypedNode) -> Hashable:
    """Return the parameters of an operator, of functions what they give: what else these compute FIFOs do not feel."""
    named = vars(node.op)
    return tuple(named), tuple([value.output if isinstance(value, FnDecl) else value for value in named.values()])


def _finding(graph: Graph, waiting: DepthWaiting, fix: Fix | None) -> Diagnostic:
    stream = graph.streams[waiting.stream]
    fold, join = graph.nodes[waiting.fold], graph.nodes[waiting.join]
    folded = _name(graph, fold.outputs[0])
    text = f"{_name(graph, waiting.stream)} must hold {_elements(waiting.elements)} while {folded} is {_doing(fold)}"
    place = "its FIFO" if waiting.fifos == 1 else f"its way to {join.op_name}"
    text += f", but {place} holds {_room(waiting)}: hardware stops; {_way_out(graph, waiting)}"
    related = (Related(fold.op_span, f"{folded} is {_doing(fold)} here"),)
    return Diagnostic("STEP501", stream.span, text, Severity.WARNING, related=related, fix=fix)


def _way_out(graph: Graph, waiting: DepthWaiting) -> str:
    producer = graph.streams[waiting.stream].producer
    if producer is not None and waiting.depth is not None:
        return f"write depth={waiting.depth} at its {graph.nodes[producer].written}"
    if waiting.dims:
        return "hold it in a buffer, by Bufferize and Streamify"
    return "hold the streams of its tuples in buffers before they are joined"


def _name(graph: Graph, index: int) -> str:
    stream = graph.streams[index]
    if stream.name or stream.producer is None:
        return stream.name or "an input"
    return f"the result of {graph.nodes[stream.producer].op_name}"


def _elements(count: Dim | None) -> str:
    if count is None:
        return "more elements than a FIFO has places"
    return counted(count.constant, "element") if count.constant is not None else f"{count} elements"


def _room(waiting: DepthWaiting) -> str:
    is_shown = waiting.room is not None and (waiting.fifos == 1 or waiting.room.constant is not None)
    return str(waiting.room) if is_shown else "fewer"


def _doing(node: Node) -> str:
    pace = None if node.op is None else node.op.pace
    if pace is None or not pace.folds:
        return "waiting for its next element"
    return "folded" if pace.applies else "buffered"


def _fix(el: Elaborator, waiting: DepthWaiting, names: FreshNames, takes_lines: bool, try_fix: TryFix) -> Fix | None:
    """Return what makes the FIFO deep enough; where the program cannot say that, what holds the stream in a buffer."""
    with suppress(NoFix):
        fix = _deeper(el, waiting)
        # One operator of the program that gets what the rule was applied with cannot go wrong.
        at = el.graph.nodes[el.graph.streams[waiting.stream].producer or 0].op_span
        is_alone = sum(node.op_span == at for node in el.graph.nodes) == 1
        if (is_alone and waiting.depth == waiting.elements and takes_lines) or try_fix(fix):
            return fix
    return _buffer(el, waiting, names, takes_lines, try_fix)


def _deeper(el: Elaborator, waiting: DepthWaiting) -> Fix:
    producer, depth = el.graph.streams[waiting.stream].producer, waiting.depth
    if producer is None or depth is None:
        raise NoFix
    scope = el.frame.scope
    visible = frozenset(scope.visible())
    if any(name not in visible or scope.find(name) != Dim.symbol(name) for name in depth.symbols()):
        raise NoFix  # the program has another name for it, or none
    node = el.graph.nodes[producer]
    title = f"Write depth={depth}: the FIFO of {_name(el.graph, waiting.stream)} holds {_elements(depth)}"
    return Fix(title, (call_edit(el, node.op_span, DEPTH.name, str(depth)),))


def _buffer(el: Elaborator, waiting: DepthWaiting, names: FreshNames, takes_lines: bool, try_fix: TryFix) -> Fix | None:
    if not waiting.dims:
        return None
    channel, dims = waiting.stream, waiting.dims
    uses = [use for use in el.uses if use.stream == channel]
    if len(uses) != 1 or not uses[0].context.code.verbatim:
        return None
    use = uses[0]
    try:
        edits = _edits(el, use, _operators(el, channel, dims), names, el.graph.streams[channel].name)
    except NoFix:
        return None
    fix = Fix(f"Hold {_name(el.graph, channel)} in a buffer", edits)
    # Lines of the program itself that only add streams cannot go wrong; the rule was applied to the buffer already.
    is_safe = takes_lines and use.context.kind == "root" and isinstance(use.expr, ast.Name) and not use.steps
    return fix if is_safe or try_fix(fix) else None


def _operators(el: Elaborator, channel: int, dims: int) -> list[str]:
    """Return the operators, in order, that hold the innermost ``dims`` dimensions of a stream and give it again."""
    stream = el.graph.streams[channel].type
    assert stream is not None, "the program is well typed"
    steps = [f"{operator_text(el, 'Bufferize')}(a={dims})", f"{operator_text(el, 'Streamify')}()"]
    if isinstance(stream.element, Buffer):
        steps.append(f"{operator_text(el, 'Bufferize')}(a={len(stream.element.shape)})")
    if dims > stream.rank:  # one dimension has to stay
        steps.insert(0, f"{operator_text(el, 'Promote')}(b={dims})")
        steps.append(f"{operator_text(el, 'Flatten')}(L=[{dims}])")
    return steps


def _edits(el: Elaborator, use: Use, operators: list[str], names: FreshNames, name: str) -> tuple[Edit, ...]:
    """Return what lets ``use`` read a buffer: lines before its statement, or the operators around its expression."""
    code, place = use.context.code, ExpressionPlace(use.context.code, use.expr, use.steps, use.whole)
    span = node_span(code, use.expr)
    if not is_pure(use.expr):
        if use.steps:
            raise NoFix
        text = enclosed(code, use.expr)
        for operator in operators:
            text = f"{operator}.apply({text})"
        return (Edit(span, text),)
    statement = first_statement(use.context, [use.expr])
    if not only_applies(statement, el.dialect):
        raise NoFix
    source = text_at(place)
    before = text_before(code, statement)
    separator = "; " if before.strip() else f"{code.newline}{code.indent}{before}"
    start = node_span(code, statement).start
    lines = ""
    made = names.make(base_name(name or source), len(operators))
    for target, operator in zip(made, operators, strict=True):
        lines += f"{target} = {operator}.apply({source}){separator}"
        source = target
    return (Edit(Span(start, start), lines), Edit(span, literal(place, {use.steps: source})))
