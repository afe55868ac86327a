"""The edits of a program whose elements hold whole rows: what each operator becomes, and where rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.calls import WrittenCall, around, with_parameters
from stepcore.rewrites.statements import bound_lines, is_movable, read_of, times_read
from stepcore.rewrites.subject import RewriteSubject
from stepcore.rewrites.wide.streams import WideStreams
from stepcore.rewrites.wide.texts import WideTexts
from stepcore.rewrites.wide.values import NotWide
from stepcore.text.span import Span


class _SameName(Record):
    """A name that only stands for another one: the other, the one place that reads it, and the lines that bind it."""

    meant: str
    read: Span
    lines: Span


class WideNodes:
    """One program, and what its streams carry."""

    def __init__(self, subject: RewriteSubject, streams: WideStreams) -> None:
        self._subject, self._streams = subject, streams
        self._ranks = streams.ranks
        self._texts = WideTexts(subject, streams)
        self._unread: dict[int, str] = {}  # streams that nothing reads any more, as they were written there
        self._same: dict[str, _SameName] = {}  # by name those that only stand for others now

    def edits(self) -> tuple[Edit, ...]:
        """Return all edits.

        Raises:
            NotWide: something is not written in a form that can be changed.
        """
        graph = self._subject.graph
        edits = self._texts.ends()
        functions, names = self._texts.functions(graph.nodes)
        edits += functions
        for nodes in self._subject.heads.values():
            several = {tuple(self._node(node, names.get(node.index))) for node in nodes}
            if len(several) > 1:
                raise NotWide(f"the text of {nodes[0].written} gives several units, which would become different ones")
            edits += several.pop()
        for node in graph.nodes:
            edits += self._unused_copy(node)
        for stream, place in zip(graph.returns, self._subject.checked.graph.return_spans, strict=False):
            edits += self._cut(stream, place)
        return tuple(dict.fromkeys([*edits, *self._without_names()]))

    def _without_names(self) -> Iterator[Edit]:
        """Yield the edits by which names that only stand for others go, with their lines."""
        lines = [each.lines for each in self._same.values()]
        for same in self._same.values():
            yield Edit(same.lines, "")
            if not any(span.start <= same.read.start < span.end for span in lines):
                meant = same.meant
                while meant in self._same:
                    meant = self._same[meant].meant
                yield Edit(same.read, meant)

    def _note_name(self, whole: Span, item: Span, name: str = "") -> None:
        """Note that the statement at ``whole`` only gives a name to what stands at ``item``, where it says no more."""
        subject = self._subject
        meant, found = subject.text[item.start : item.end], bound_lines(subject, whole)
        if found is None or (not name and len(found.names) > 1):
            return
        name = name or found.names[0]
        behind = subject.text[whole.end : found.lines.end].strip()
        read = read_of(subject, name)
        if meant.isidentifier() and not behind and read is not None and is_movable(subject, f"{meant}, {name}"):
            self._same[name] = _SameName(meant, read, found.lines)

    def _cut(self, stream: int, place: Span) -> tuple[Edit, ...]:
        """Return the edits that put rows together, or take them apart, where a stream is read at ``place``."""
        made, read = self._ranks.made[stream], self._ranks.read[stream]
        if made == read:
            return ()
        unit = f"Bufferize(a={read})" if read else "Streamify()"
        return around(place, f"{self._subject.module}{unit}.apply(", ")")

    def _node(self, node: TypedNode, function: str | None) -> Iterator[Edit]:
        before = [self._ranks.read[stream] for stream in node.inputs]
        after = [self._ranks.made[stream] for stream in node.outputs]
        is_cut = [self._ranks.made[stream] != self._ranks.read[stream] for stream in node.inputs]
        if not any(before) and not any(after) and not any(is_cut):
            return
        call = self._subject.call(node)
        if call is None or (any(is_cut) and len(call.items) != len(node.inputs)):
            raise NotWide(f"{node.written} is not written as step.{node.written}(...).apply(...)")
        kept = self._kept(node, before, after)
        for number, (stream, place) in enumerate(zip(node.inputs, call.items, strict=False)):
            if kept is None or number in kept:
                yield from self._cut(stream, place)
        if kept is not None:
            yield from self._without(node, call, kept)
        else:
            yield from self._changed(node, call, function, before[0], after[0])

    def _kept(self, node: TypedNode, before: list[int], after: list[int]) -> tuple[int, ...] | None:
        """Return the one input that stands for the result where an operator goes; None where it stays."""
        op: Any = node.op
        match node.op_name:
            case "Repeat" | "Promote":
                return (0,) if after[0] > before[0] else None
            case "RepeatRef":
                return (0,) if after[0] else None
            case "Streamify":
                return (0,) if any(before[1:]) or (after[0] and len(before) == 1) else None
            case "Bufferize":
                return (0,) if before[0] >= op.a else None
            case "Flatten":
                return (0,) if before[0] > after[0] else None
        return None

    def _without(self, node: TypedNode, call: WrittenCall, kept: tuple[int, ...]) -> Iterator[Edit]:
        """Yield the edits by which one input of an operator stands in its place."""
        if len(call.items) != len(node.inputs):
            raise NotWide(f"what {node.written} reads is not written out")
        item = call.items[kept[0]]
        yield Edit(Span(call.whole.start, item.start), "")
        yield Edit(Span(item.end, call.whole.end), "")
        if not any(self._cut(node.inputs[kept[0]], item)):
            self._note_name(call.whole, item)
        for number, stream in enumerate(node.inputs):
            if number not in kept:
                place = call.items[number]
                self._unread[stream] = self._subject.text[place.start : place.end]

    def _changed(
        self, node: TypedNode, call: WrittenCall, function: str | None, before: int, after: int
    ) -> Iterator[Edit]:
        """Yield the edits of an operator that stays, with other parameters."""
        op: Any = node.op
        text = self._subject.text
        match node.op_name:
            case "Map" if function is not None:
                yield Edit(self._place(node, call, "fn"), function)
            case "Accum" if function is not None and op.b <= before:
                yield Edit(call.head, self._map(node, call, function))
            case "Accum" if before:
                name = {} if function is None else {"fn": function}
                yield Edit(call.head, with_parameters(text, call, {**name, "b": str(op.b - before)}))
            case "Bufferize" if before:
                yield Edit(self._place(node, call, "a"), str(op.a - before))
            case "Promote" if before:
                yield Edit(self._place(node, call, "b"), str(op.b - before))
            case "Flatten" if before:
                yield Edit(self._place(node, call, "L"), f"[{', '.join(str(each - before) for each in op.L)}]")
            case "Streamify" if after:  # a buffer that is read for each element of a reference is repeated for it
                yield Edit(node.op_span, f"{self._subject.module}RepeatRef")

    def _map(self, node: TypedNode, call: WrittenCall, function: str) -> str:
        others = [
            f"{name}={self._subject.text[place.start : place.end]}"
            for name, place in call.keywords.items() if name not in ("fn", "b")
        ]  # fmt: skip
        return f"{self._subject.module}Map({', '.join((f'fn={function}', *others))})"

    @staticmethod
    def _place(node: TypedNode, call: WrittenCall, name: str) -> Span:
        if name not in call.keywords:
            raise NotWide(f"{node.written} does not write its {name}")
        return call.keywords[name]

    def _unused_copy(self, node: TypedNode) -> Iterator[Edit]:
        """Yield the edits that take a Copy of two out, one of which nothing reads any more."""
        left = [stream for stream in node.outputs if stream not in self._unread]
        if node.op_name != "Copy" or len(node.outputs) != 2 or len(left) != 1 or not self._subject.is_alone(node):
            return
        call = self._subject.call(node)
        found = None if call is None else bound_lines(self._subject, call.whole)
        if call is None or call.argument is None or found is None or len(found.names) != len(node.outputs):
            return
        kept = node.outputs.index(left[0])
        gone = found.names[1 - kept]
        if self._unread[node.outputs[1 - kept]] != gone or times_read(self._subject, gone) != 1:
            return
        if self._ranks.made[node.inputs[0]] == self._ranks.read[node.inputs[0]]:
            self._note_name(call.whole, call.argument, found.names[kept])
        yield Edit(found.targets, found.names[kept])
        yield Edit(Span(call.whole.start, call.argument.start), "")
        yield Edit(Span(call.argument.end, call.whole.end), "")
