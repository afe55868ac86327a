"""The program as a picture: operators, inputs and outputs as nodes, streams as edges, findings at their nodes.

Loops are unrolled, as the checker unrolls them, so that each node is one hardware unit. Plain data; where it is drawn
is decided elsewhere. Offsets count code points of the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from stepcore.check.affine import assign_slots
from stepcore.check.programs import Checked
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import GraphStream, Node
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.meaning import Seeing, seeing
from stepcore.ide.results import number_text, seen_stream
from stepcore.jobdata.choices import NodeKind
from stepcore.ops.calling import value_text
from stepcore.records import Record
from stepcore.text.span import Span
from stepcore.text.wording import clipped, counted
from stepcore.types import shape_text

if TYPE_CHECKING:
    from stepcore.jobdata.editor import GraphResult, PlainRange
    from stepcore.jobdata.programs import ComponentRow, SimulateResult

# A layout of more nodes is slow, and nobody can read it.
MAX_NODES: Final = 400
_SHOWN_VALUES: Final = 6
_ORIGIN: Final = re.compile(r"# (line \d+(?:: .*)?)")  # as delivered files have it above the operators from a line
_COMMENTS: Final = 4  # lines of such comments above the first operator
_GROUP_LENGTH: Final = 80
_ORDER: Final = tuple(Severity)


class NodeView(Record):
    """One operator, input or output. ``params`` are texts by keyword; an operator's ``doc`` is one sentence.

    ``span`` is its place in the document (None where that is in another file), ``line`` counts from 1. ``findings`` are
    messages with their codes, ``severity`` that of the gravest ("" without findings). ``group`` is the source line that
    it belongs to, with others: ``line 14: return relu(x)`` of the function that the program was made from, where a
    comment says so, else the line that unrolls to several operators; empty where it stands alone.
    """

    id: str
    kind: NodeKind
    label: str
    params: dict[str, str]
    doc: str
    span: Span | None
    line: int | None
    findings: tuple[str, ...] = ()
    severity: str = ""
    group: str = ""


class EdgeView(Record):
    """One consumption of a stream: from output ``source_port`` of a node to input ``target_port`` of another.

    ``stream`` is the stream's name ("" where the program gives none), ``type`` its element, ``shape`` innermost
    first; both are "?" while unknown. ``span`` is the consuming expression. ``overused`` tells that the stream is
    consumed more often than it may be. ``values`` says what the last run saw, a line for each tuple component.
    """

    id: str
    source: str
    target: str
    source_port: int
    target_port: int
    stream: str
    type: str
    shape: str
    span: Span | None
    overused: bool
    values: tuple[str, ...] = ()


class GraphView(Record):
    """A drawn program. ``findings`` are those that belong to no node; ``note`` says what is left out ("": nothing).

    ``is_broken`` tells that a part of the program does not parse, so that nodes may be missing: a view that has an
    earlier picture better keeps it until the line is typed to its end.
    """

    program: str
    nodes: tuple[NodeView, ...]
    edges: tuple[EdgeView, ...]
    findings: tuple[str, ...]
    note: str
    is_broken: bool
    made_by: tuple[tuple[Span, str], ...]  # where a stream is named, and the node that makes it

    def at(self, offset: int) -> str | None:
        """Return the node to highlight for a cursor: the innermost application around it, or what made the name."""
        spans = [(node.span, node.id) for node in self.nodes if node.span is not None]
        for places in (spans, self.made_by):
            hits = [(span, node) for span, node in places if span.start <= offset <= span.end]
            if hits:
                return min(hits, key=lambda hit: hit[0].end - hit[0].start)[1]
        return None

    def result(
        self, version: int | None, programs: tuple[str, ...], offset: int | None, place: Callable[[Span], PlainRange]
    ) -> GraphResult:
        """Return what an editor is told of one of the ``programs`` of a document, with the node of its cursor."""
        from stepcore.jobdata.editor import GraphEdge, GraphNode, GraphResult

        def told(item: NodeView | EdgeView) -> dict[str, Any]:
            data = {each.name: getattr(item, each.name) for each in fields(item) if each.name != "span"}
            return {**data, "range": None if item.span is None else place(item.span)}

        nodes = tuple(GraphNode(**told(node)) for node in self.nodes)
        edges = tuple(GraphEdge(**told(edge)) for edge in self.edges)
        active = None if offset is None else self.at(offset)
        return GraphResult(
            version, programs, self.program, nodes, edges, self.findings, self.note, self.is_broken, active
        )


def graph(analysis: Analysis, program_name: str, run: SimulateResult | None = None) -> GraphView | None:
    """Return the picture of one program; None where the document has no such program.

    ``run`` adds what the last simulation saw in each stream.
    """
    unit = analysis.program(program_name)
    if unit is None or unit.checked is None:
        return None
    return _Builder(analysis, unit, unit.checked, run).view()


class _Builder:
    def __init__(self, analysis: Analysis, unit: DocumentUnit, checked: Checked, run: SimulateResult | None) -> None:
        self.analysis = analysis
        self.unit = unit
        self.checked = checked
        self.graph = checked.graph
        self.run = run
        self.seeing: Seeing = seeing(unit)
        self.overused = {stream for stream, uses in self.seeing.uses.items() if max(assign_slots(uses)) > 0}
        self.is_broken = False
        self.at_node, self.elsewhere = self._findings()

    def view(self) -> GraphView:
        nodes = [*self._inputs(), *map(self._operator, self.graph.nodes)]
        nodes = self._grouped(nodes)
        outputs = list(self._outputs())
        room = max(MAX_NODES - len(outputs), 0)
        shown = (nodes[:room] + outputs)[:MAX_NODES]
        ids = {node.id for node in shown}
        edges = tuple(edge for edge in self._edges() if edge.source in ids and edge.target in ids)
        total = len(nodes) + len(outputs)
        note = "" if total == len(shown) else f"{counted(total, 'node')} are too many to draw; {len(shown)} are shown"
        made_by = tuple(
            (span, maker)
            for stream in self.graph.streams
            if (maker := _maker(stream)) in ids and (span := self._place(stream.span)) is not None
        )
        return GraphView(self.graph.name, tuple(shown), edges, self.elsewhere, note, self.is_broken, made_by)

    # -- nodes ---------------------------------------------------------------------------------------------

    def _inputs(self) -> Iterator[NodeView]:
        for index in self.graph.inputs:
            stream = self.graph.streams[index]
            # The inputs of an answer are declared in the task, which is another file.
            span = None if self.analysis.kind == "impl" else stream.span
            yield self._node(f"i{index}", "input", stream.name, {}, self.seeing.type_text(stream.type), span)

    def _operator(self, node: Node) -> NodeView:
        params = {name: value_text(value) for name, value in node.params.items()}
        doc = "" if node.op is None else type(node.op).summary
        return self._node(f"n{node.index}", "operator", node.written, params, doc, node.span)

    def _outputs(self) -> Iterator[NodeView]:
        declared = self.checked.spec.outputs or ()
        for position, index in enumerate(self.graph.returns):
            port = declared[position] if position < len(declared) else None
            name = port.name if port is not None and port.name else "output"
            label = name if name != "output" or len(self.graph.returns) == 1 else f"output {position}"
            wanted = "" if port is None else f"declared {self.seeing.type_text(port.type)}"
            spans = self.graph.return_spans
            span = spans[position] if position < len(spans) else self.graph.streams[index].span
            yield self._node(f"o{position}", "output", label, {}, wanted, span)

    def _node(
        self, key: str, kind: NodeKind, label: str, params: dict[str, str], doc: str, span: Span | None
    ) -> NodeView:
        place = None if span is None else self._place(span)
        line = None if place is None else self.analysis.source.line_col(place.start)[0] + 1
        found = self.at_node.get(key, [])
        gravest = min((item.severity for item in found), key=_ORDER.index, default=None)
        messages = tuple(f"{item.code}: {item.message}" for item in found)
        return NodeView(key, kind, label, params, doc, place, line, messages, gravest.value if gravest else "")

    def _grouped(self, nodes: list[NodeView]) -> list[NodeView]:
        """Return the nodes with the source lines that operators share."""
        lines = [0 if node.kind != "operator" or node.line is None else node.line for node in nodes]
        origins = self._origins(lines)
        names = [origins.get(line, "") or (self._source_line(line) if line else "") for line in lines]
        count = Counter(names)
        return [
            replace(node, group=name) if name and count[name] > 1 else node
            for node, name in zip(nodes, names, strict=True)
        ]

    def _origins(self, lines: list[int]) -> dict[int, str]:
        """Return for each line of an operator what the comment above it says of the function that it came from."""
        found: dict[int, str] = {}
        used = [line for line in lines if line]
        origin = ""
        for line in range(min(used, default=1) - _COMMENTS, max(used, default=0) + 1):
            text = self.analysis.source.line_text(line - 1).strip() if line > 0 else ""
            match = _ORIGIN.fullmatch(text)
            origin = clipped(match[1], _GROUP_LENGTH) if match is not None else origin
            found[line] = origin
        return found

    def _source_line(self, line: int) -> str:
        return clipped(f"line {line}: {self.analysis.source.line_text(line - 1).strip()}", _GROUP_LENGTH)

    # -- edges ---------------------------------------------------------------------------------------------

    def _edges(self) -> Iterator[EdgeView]:
        for node in self.graph.nodes:
            for position, index in enumerate(node.inputs):
                span = node.input_spans[position] if position < len(node.input_spans) else node.span
                yield self._edge(f"n{node.index}.{position}", index, f"n{node.index}", position, span)
        for position, index in enumerate(self.graph.returns):
            spans = self.graph.return_spans
            span = spans[position] if position < len(spans) else self.graph.streams[index].span
            yield self._edge(f"o{position}", index, f"o{position}", 0, span)
        yield from self._rounds()

    def _rounds(self) -> Iterator[EdgeView]:
        """Yield what goes from the end of each loop to where it begins."""
        ends = [node for node in self.graph.nodes if not node.has_class]
        if not ends:
            return
        from stepcore.graph.loops import FeedbackEnd  # few programs have loops

        for node in ends:
            assert isinstance(node.op, FeedbackEnd), "an end"
            stream = self.graph.streams[node.op.source]
            begin = _maker(stream)
            element, shape = self._type(stream)
            span = self._place(node.span)
            yield EdgeView(f"{begin}.0", f"n{node.index}", begin, 0, 0, "", element, shape, span, overused=False)

    def _edge(self, key: str, index: int, target: str, position: int, span: Span) -> EdgeView:
        stream = self.graph.streams[index]
        element, shape = self._type(stream)
        seen = None if self.run is None else seen_stream(self.run, self.graph, index)
        values = () if seen is None else tuple(map(_component_text, seen.components))
        is_over = index in self.overused
        maker = _maker(stream)
        place = self._place(span)
        return EdgeView(key, maker, target, stream.slot, position, stream.name, element, shape, place, is_over, values)

    def _type(self, stream: GraphStream) -> tuple[str, str]:
        if stream.type is None:
            return "?", "?"
        return self.seeing.element_text(stream.type.element), shape_text(stream.type.shape)

    # -- findings ------------------------------------------------------------------------------------------

    def _findings(self) -> tuple[dict[str, list[Diagnostic]], tuple[str, ...]]:
        """Return the findings of each node, and the messages of those that concern the program but no node."""
        places = list(self._places())
        at_node: dict[str, list[Diagnostic]] = {}
        elsewhere: list[str] = []
        for found in self.analysis.diagnostics:
            own = found.span
            around = [(span, key) for span, key in places if span.start <= own.start <= own.end <= span.end]
            size = min((span.end - span.start for span, _ in around), default=-1)
            keys = dict.fromkeys(key for span, key in around if span.end - span.start == size)
            for key in keys:
                at_node.setdefault(key, []).append(found)
            is_own = bool(keys) or self._is_own(own)
            info = about(found.code)
            self.is_broken |= is_own and info.subject is Subject.CODE and not info.shared
            if is_own and not keys:
                elsewhere.append(f"{found.code}: {found.message}")
        return at_node, tuple(elsewhere)

    def _places(self) -> Iterator[tuple[Span, str]]:
        """Yield where findings about a node stand: its text, its declaration, the functions that it applies."""
        for node in self.graph.nodes:
            yield from self._moved(node.span, f"n{node.index}")
            for value in node.params.values():
                if isinstance(value, FnDecl) and self.analysis.kind != "impl":
                    body = value.body.source.outer
                    yield from self._moved(value.span, f"n{node.index}")
                    yield from self._moved(body, f"n{node.index}")
            for index in node.outputs:
                yield from self._moved(self.graph.streams[index].span, f"n{node.index}")
        for index in self.graph.inputs:
            if self.analysis.kind != "impl":
                yield from self._moved(self.graph.streams[index].span, f"i{index}")
        for position, span in enumerate(self.graph.return_spans):
            yield from self._moved(span, f"o{position}")

    def _moved(self, span: Span, key: str) -> Iterator[tuple[Span, str]]:
        place = self._place(span)
        if place is not None:
            yield place, key

    def _is_own(self, span: Span) -> bool:
        """Return whether a finding stands in what no other program has; a task file has only one."""
        focus = self.unit.focus
        return self.analysis.kind != "python" or focus.start <= span.start < focus.end

    # -- texts ---------------------------------------------------------------------------------------------

    def _place(self, span: Span) -> Span | None:
        return self.unit.to_document(span) if span.end > span.start else None


def _maker(stream: GraphStream) -> str:
    return f"i{stream.index}" if stream.producer is None else f"n{stream.producer}"


def _component_text(part: ComponentRow) -> str:
    shape = f"({', '.join(map(str, part.shape))}{',' if len(part.shape) == 1 else ''})"
    values = ", ".join(map(number_text, part.values[:_SHOWN_VALUES]))
    text = f"{part.dtype} {shape}: {values}{', ...' if len(part.values) > _SHOWN_VALUES else ''}"
    if part.min is not None and part.max is not None:
        text += f"; {number_text(part.min)} to {number_text(part.max)}"
    counts = ((part.nan, "NaN"), (part.infinite, "infinite"))
    return text + "".join(f"; {count:,} {what}" for count, what in counts if count)
