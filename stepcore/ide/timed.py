"""What a timed program is told as in an editor: figures behind operators, a line for the program, texts for hovers.

Places are found through the graph and not by line, so that they follow a program that has only moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stepcore.check.programs import UNFOLLOWED
from stepcore.findings.diagnostics import Severity
from stepcore.graph.ir import Graph
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.model import ProgramInfo
from stepcore.jobdata.choices import FigureMark
from stepcore.text.span import Span
from stepcore.text.wording import counted, times_text

if TYPE_CHECKING:
    from stepcore.ide.analysis import PlacedComposition
    from stepcore.jobdata.editor import GraphEdge, GraphNode, GraphResult
    from stepcore.jobdata.timing import FifoRow, TimingRow, UnitRow, WaitRow

BOTTLENECK: Final = "bottleneck"
MOST_FIGURES: Final = 400  # of a program: each comes with a text for its hover, at every change
_UNITS: Final = (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000))
_THOUSANDS: Final = (("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000))


@dataclass(frozen=True, slots=True)
class TimedFigure:
    """``label`` shown behind ``offset`` of the document; ``detail`` is Markdown."""

    offset: int
    label: str
    mark: FigureMark
    detail: str


def why_untimed(analysis: Analysis, info: ProgramInfo) -> str:
    """Return why a program cannot be timed as it stands; an empty text where it can.

    One that is not affine may be simulated, but is no hardware.
    """
    unit = analysis.program(info.name)
    checked = None if unit is None else unit.checked
    if checked is None or any(found.severity is Severity.ERROR for found in checked.diagnostics):
        return "the program has errors"
    if info.is_runnable:
        return ""
    return "the program has errors" if unit is not analysis.script else UNFOLLOWED


def composition_mark(analysis: Analysis, placed: PlacedComposition) -> str:
    """Return a text that changes with anything that the cycles of a composition depend on; "" where it has errors."""
    marks: dict[Span, str] = analysis.memo.setdefault("composition marks", {})
    if placed.extent not in marks:
        marks[placed.extent] = _composition_mark(analysis, placed)
    return marks[placed.extent]


def _composition_mark(analysis: Analysis, placed: PlacedComposition) -> str:
    checked = placed.checked
    if checked.text is None or checked.errors or not checked.text.calls:
        return ""
    if any(
        item.severity is Severity.ERROR and placed.extent.start <= item.span.start < placed.extent.end
        for item in analysis.diagnostics
    ):
        return ""  # sizes that are none, say
    units = [analysis.program(name) for name in sorted({call.program for call in checked.text.calls})]
    own = analysis.source.text[placed.extent.start : placed.extent.end]
    parts = [own, str(sorted(checked.sizes.items())), *(unit.fingerprint for unit in units if unit is not None)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def cycles_text(cycles: int) -> str:
    """Return ``990``, ``12.4k``, ``3.1M``."""
    return next((f"{_short(cycles / size, 3)}{unit}" for unit, size in _THOUSANDS if cycles >= size), str(cycles))


def bytes_text(count: int) -> str:
    """Return ``1.9 MB``."""
    return next((f"{_short(count / size, 2)} {unit}" for unit, size in _UNITS if count >= size), f"{count} bytes")


def _short(value: float, digits: int) -> str:
    """Return a number in so many digits, or whole where these do not do: ``7.9e+02`` is for machines."""
    return f"{value:.{digits}g}" if value < 10**digits - 0.5 else f"{value:,.0f}"


def headline(row: TimingRow, *, is_fluid: bool) -> str:
    """Return ``15,290 cycles | 1.9 MB off chip, 71 % | 3.1 of 8 MB on chip``."""
    about = "~" if is_fluid else ""
    if row.stopped:
        return f"stops at cycle {row.cycles:,}{cure_text(row)}"
    moved = f"{bytes_text(row.off_chip)} off chip, {_share(row.off_chip, row.cycles * row.peak)}"
    return " | ".join((f"{about}{row.cycles:,} cycles", moved, _on_chip(row)))


def cure_text(row: TimingRow) -> str:
    """Return what lets a stopped program run, as the end of a sentence."""
    depths = " and ".join(f"depth {cure.depth} of {_stream(row.fifos[cure.fifo])}" for cure in row.cure)
    return f": {depths} cures it" if depths else ": no depth of one FIFO is known to cure it"


def bound_text(ratio: float) -> str:
    """Return how cycles stand to their bound: ``1.11x of the bound``."""
    return f"{times_text(ratio)} of the bound"


def lens_text(row: TimingRow, *, is_fluid: bool) -> str:
    """Return cycles, how they stand to the bound, and what rules."""
    if row.stopped:
        return headline(row, is_fluid=is_fluid)
    parts = [f"{'~' if is_fluid else ''}{row.cycles:,} cycles"]
    if row.bound:
        parts.append(f"{bound_text(row.cycles / row.bound)} ({row.ruled_by})")
    if row.busiest >= 0:
        unit = row.units[row.busiest]
        parts.append(f"{unit.name} rules, busy {_share(unit.busy, row.cycles)}")
    return " | ".join(parts)


def figures(analysis: Analysis, program: str, row: TimingRow, *, is_fluid: bool) -> list[TimedFigure]:
    """Return the first figures of a program's operators, in order; none where the row is that of another graph."""
    unit = analysis.program(program)
    if unit is None or unit.checked is None:
        return []
    graph = unit.checked.graph
    if not _fits(row, graph):
        return []
    found: dict[int, list[int]] = {}
    for number, each in enumerate(row.units):
        place = _place(unit, graph, row, number)
        if place is not None and (each.node >= 0 or number == row.busiest or _waits(row, number)):
            found.setdefault(place, []).append(number)
    return [_figure(row, offset, found[offset], is_fluid=is_fluid) for offset in sorted(found)[:MOST_FIGURES]]


def node_text(analysis: Analysis, program: str, row: TimingRow, offset: int, *, is_fluid: bool) -> str:
    """Return what is known of the operator around ``offset``, or of the one that makes the stream there."""
    unit = analysis.program(program)
    inner = None if unit is None else unit.from_document(offset)
    if unit is None or unit.checked is None or inner is None or not _fits(row, unit.checked.graph):
        return ""
    node = _node_at(unit.checked.graph, inner)
    numbers = [number for number, each in enumerate(row.units) if each.node == node and node >= 0]
    return "\n\n".join(unit_text(row, number, is_fluid=is_fluid) for number in numbers[:1])


def drawn(
    analysis: Analysis, graph: GraphResult, row: TimingRow, chip: str, *, is_fluid: bool, is_stale: bool
) -> GraphResult:
    """Return a drawn program with heat, fills and what waits; as it is where the row is that of another graph."""
    from stepcore.jobdata.editor import EdgeTiming, GraphTiming, NodeTiming

    unit = analysis.program(graph.program)
    if unit is None or unit.checked is None or not _fits(row, unit.checked.graph):
        return graph
    program = unit.checked.graph
    units = {_node_id(each, program): number for number, each in enumerate(row.units)}
    fifos = {fifo.stream: number for number, fifo in enumerate(row.fifos) if fifo.stream >= 0}
    waits = {wait.fifo: wait.reason for wait in row.waits}

    def heat(node: GraphNode) -> GraphNode:
        number = units.get(node.id)
        if number is None:
            return node
        figure = _figure(row, 0, [number], is_fluid=is_fluid)
        detail = unit_text(row, number, is_fluid=is_fluid).replace("**", "")
        share = row.units[number].busy / row.cycles if row.cycles else 0.0
        return replace(node, timing=NodeTiming(round(min(share, 1.0), 4), figure.label, detail, figure.mark))

    def filled(edge: GraphEdge) -> GraphEdge:
        fifo = fifos.get(_stream_of(edge.id, program))
        if fifo is None:
            return edge
        use = row.fifos[fifo]
        return replace(edge, timing=EdgeTiming(use.fill, use.depth, waits.get(fifo, "")))

    told = GraphTiming(headline(row, is_fluid=is_fluid), chip, is_stale, row.stopped)
    return replace(graph, nodes=tuple(map(heat, graph.nodes)), edges=tuple(map(filled, graph.edges)), timing=told)


def _node_id(unit: UnitRow, graph: Graph) -> str:
    """Return the node that the picture of a program has for a unit, see :mod:`stepcore.ide.graph_view`."""
    if unit.node >= 0:
        return f"n{unit.node}"
    if unit.stream in graph.inputs:
        return f"i{unit.stream}"
    return f"o{graph.returns.index(unit.stream)}" if unit.stream in graph.returns else ""


def _stream_of(edge: str, graph: Graph) -> int:
    """Return the stream that an edge of the picture is; -1 for none."""
    node, _, position = edge.partition(".")
    number = int(node[1:])
    if node[0] == "o":
        return graph.returns[number] if number < len(graph.returns) else -1
    inputs = graph.nodes[number].inputs if number < len(graph.nodes) else ()
    return inputs[int(position)] if int(position) < len(inputs) else -1


def unit_text(row: TimingRow, number: int, *, is_fluid: bool) -> str:
    """Return a paragraph about a unit: where its cycles went, and what rules a call."""
    unit, total = row.units[number], row.cycles
    about = "~" if is_fluid else ""
    rest = max(total - unit.busy - unit.blocked, 0)
    lines = [
        f"**Timing**: busy {about}{unit.busy:,} of {total:,} cycles ({_share(unit.busy, total)}); "
        f"starved {rest:,} ({_share(rest, total)}), blocked {unit.blocked:,} ({_share(unit.blocked, total)}); "
        f"{counted(unit.calls, 'call')}."
    ]
    if number == row.busiest:
        lines[0] += " The bottleneck: no unit is busy longer."
    terms = unit.terms
    if terms is not None:
        lines.append(_formula(unit))
    lines += [
        f"{_stream(fifo)}: at most {fifo.fill} of {fifo.depth} tokens in its FIFO." for fifo in _outputs(row, unit)
    ]
    lines += [f"It waits: {wait_text(row, wait)}." for wait in row.waits if wait.unit == number]
    return "\n\n".join(lines)


def wait_text(row: TimingRow, wait: WaitRow) -> str:
    """Return ``direct is full (5)``."""
    fifo = row.fifos[wait.fifo]
    return f"{_stream(fifo)} is {wait.reason}" + (f" ({fifo.depth})" if wait.reason == "full" else "")


def _formula(unit: UnitRow) -> str:
    terms = unit.terms
    assert terms is not None
    parts = {"input": terms.input, "compute": terms.compute, "output": terms.output}
    names = {
        "input": "bytes from memory", "compute": f"{terms.flops:,} FLOPs" if terms.flops else "a call without FLOPs",
        "output": "bytes to memory",
    }  # fmt: skip
    ruling = "compute" if terms.term == "minimum" else terms.term
    shown = ", ".join(f"{'**' * (name == ruling)}{cycles:,} for {names[name]}{'**' * (name == ruling)}"
                      for name, cycles in parts.items() if cycles or name == ruling)  # fmt: skip
    return f"A call takes max({shown}) = {counted(max(parts.values()), 'cycle')}."


def _figure(row: TimingRow, offset: int, numbers: list[int], *, is_fluid: bool) -> TimedFigure:
    """Return the figure of one place, where a loop may have put several units."""
    busiest = max(numbers, key=lambda number: row.units[number].busy)
    waits = [wait for wait in row.waits if wait.unit in numbers]
    detail = unit_text(row, waits[0].unit if waits else busiest, is_fluid=is_fluid)
    if waits:
        return TimedFigure(offset, f"waits: {wait_text(row, waits[0])}", "waiting", detail)
    unit = row.units[busiest]
    times = f"{len(numbers)} × up to " if len(numbers) > 1 else ""
    about = "~" if is_fluid else ""
    share = f", {_share(unit.busy, row.cycles)}" if unit.busy else ""  # shapes and Copy take no cycles
    label = f"{times}{about}{cycles_text(unit.busy)} cycle{'' if unit.busy == 1 else 's'}{share}"
    full = [f for number in numbers for f in _outputs(row, row.units[number]) if f.fill >= f.depth]
    if full and any(row.units[number].blocked for number in numbers):
        label += f", depth {full[0].fill}/{full[0].depth}"
    if row.busiest not in numbers or row.stopped:
        return TimedFigure(offset, label, "", detail)
    return TimedFigure(offset, f"{label} ◂ {BOTTLENECK}", "bottleneck", detail)


def _fits(row: TimingRow, graph: Graph) -> bool:
    """Return whether the row may be that of a graph: the same operators under the same numbers."""
    nodes = graph.nodes
    return all(
        unit.node < len(nodes) and unit.stream < len(graph.streams)
        and (unit.node < 0 or nodes[unit.node].op_name == unit.name)
        for unit in row.units
    )  # fmt: skip


def _place(unit: DocumentUnit, graph: Graph, row: TimingRow, number: int) -> int | None:
    """Return behind which offset the figure of a unit stands."""
    each = row.units[number]
    if each.node >= 0:
        span = graph.nodes[each.node].span
    elif each.stream in graph.inputs:
        span = graph.streams[each.stream].span
    elif each.stream in graph.returns and len(graph.return_spans) == len(graph.returns):
        span = graph.return_spans[graph.returns.index(each.stream)]
    else:
        return None
    outer = unit.to_document(span) if span.end > span.start else None
    return None if outer is None else outer.end


def _node_at(graph: Graph, inner: int) -> int:
    """Return the innermost application around an offset, or what made the stream that is named there; -1: neither."""
    spans = [(node.span, node.index) for node in graph.nodes]
    made = [(stream.span, stream.producer) for stream in graph.streams if stream.producer is not None]
    for places in (spans, made):
        hits = [(span.end - span.start, node) for span, node in places if _holds(span, inner)]
        if hits:
            return min(hits)[1]
    return -1


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end and span.end > span.start


def _outputs(row: TimingRow, unit: UnitRow) -> Iterator[FifoRow]:
    """Yield the FIFOs that a unit fills, by the streams that its node makes."""
    return (row.fifos[fifo] for fifo in unit.fills)


def _waits(row: TimingRow, number: int) -> bool:
    return any(wait.unit == number for wait in row.waits)


def _on_chip(row: TimingRow) -> str:
    if not row.capacity:
        return f"{bytes_text(row.on_chip)} on chip"
    return f"{bytes_text(row.on_chip)} of {bytes_text(row.capacity)} on chip"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else "0 %"


def _stream(fifo: FifoRow) -> str:
    return fifo.name or "a stream"
