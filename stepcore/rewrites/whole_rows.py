"""Elements that hold whole rows of a stream, instead of its numbers one by one: a unit does many numbers in a cycle.

Side condition: innermost dimensions of fixed sizes go into the elements of all streams that meet, one dimension at
least stays outside of each; functions take numbers one by one, reduce their own dimensions, or fold the row by a sum, a
product, or the greatest or least value. What was repeated along a row stands once beside it; Bufferize and Streamify
that only put rows together and take them apart go. An operator that takes single elements (Partition, Scan, ...) keeps
them, between Streamify and Bufferize. Inputs and results hold rows as buffers, the same tensors for the reference, or
stay as they are, with Bufferize behind inputs and Streamify in front of results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.rewrites.wide.nodes import WideNodes
from stepcore.rewrites.wide.ranks import Seed, buffer_rank, is_shaped, wide_ranks
from stepcore.rewrites.wide.streams import NodeNotWide, WideStreams, wide_streams
from stepcore.rewrites.wide.values import NotWide
from stepcore.text.span import Span
from stepcore.types import shape_text

_DIMENSIONS = 3  # that go into elements at once
_TRIES = 12  # operators that may keep single elements
_SEEDS = 16  # streams to begin with; all others that fit follow each of them


class WholeRows(ExplainedRewrite):
    """Put the innermost dimensions of streams into their elements."""

    name: str = "whole-rows"
    summary: str = "elements that hold whole rows of a stream, instead of its numbers one by one"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each input, and each stream that is read out of buffers, with some dimensions in their elements."""
        seen = set()
        for stream in subject.graph.inputs:
            reader = subject.consumers.get(stream)
            if len(subject.graph.streams[stream].type.shape) == 1 and reader is not None:
                what = f"the one dimension of {subject.graph.streams[stream].name} has to stay outside of its elements"
                yield RewriteRefusal(self.name, what, reader.op_span)
        seeds = list(_seeds(subject))
        for stream, place in seeds[:_SEEDS]:
            for width in _widths(subject, stream):
                others = [(each, next(iter(_widths(subject, each)))) for each, _ in seeds if each != stream]
                ways: tuple[tuple[bool, list[Seed]], ...] = ((False, others), (True, others), (False, []))
                for number, (keeps_ends, beside) in enumerate(ways):
                    found = self._of(subject, (stream, width), beside, keeps_ends=keeps_ends)
                    if isinstance(found, str):
                        if width == 1 and number == 0:
                            yield RewriteRefusal(self.name, found, place)
                    elif found.edits not in seen:
                        seen.add(found.edits)
                        yield found

    def _of(
        self, subject: RewriteSubject, seed: Seed, others: Sequence[Seed], *, keeps_ends: bool
    ) -> RewriteSite | str:
        width = seed[1]
        try:
            streams = _solved(subject, seed, others, keeps_ends=keeps_ends)
            nodes = WideNodes(subject, streams)
            edits = nodes.edits()
        except NotWide as error:
            return str(error)
        given = subject.graph.streams[seed[0]]
        rows = shape_text(given.type.shape[:width])
        name = given.name or "a stream"
        ends = " (inputs and results stay as they are)" if keeps_ends else ""
        sentence = f"elements of {name} hold rows of {rows} numbers, and so do all streams that they meet{ends}"
        if streams.left:
            sentence += f"; {streams.left}, so it takes single ones"
        kept = "kept" if keeps_ends else "rows"
        params = (("dimensions", str(width)), ("ends", kept), (HOW, "whole rows in elements"))
        return RewriteSite(self.name, sentence, edits, params)


def _seeds(subject: RewriteSubject) -> Iterator[tuple[int, Span | None]]:
    """Yield the streams of numbers or buffers to begin with, and the operator that the place is shown at."""
    graph = subject.graph
    for stream in graph.inputs:
        if len(graph.streams[stream].type.shape) > 1:
            reader = subject.consumers.get(stream)
            yield stream, None if reader is None else reader.op_span
    for node in graph.nodes:
        if node.op_name == "Streamify" and is_shaped(graph, node):
            yield node.outputs[0], node.op_span


def _widths(subject: RewriteSubject, stream: int) -> Iterator[int]:
    """Yield how many dimensions may go into the elements of a stream."""
    graph = subject.graph
    most = len(graph.streams[stream].type.shape) - 1
    made = subject.producer(stream)
    least = 1 if made is None else buffer_rank(graph, made)
    yield from range(max(least, 1), max(min(most, _DIMENSIONS), least) + 1)


def _solved(subject: RewriteSubject, seed: Seed, others: Sequence[Seed], *, keeps_ends: bool) -> WideStreams:
    """Return the program with elements that hold rows; what cannot take them is left out, one by one.

    Raises:
        NotWide: the seed cannot hold rows, or nothing would be done with them.
    """
    fixed: set[int] = set()
    reason = ""
    for _ in range(_TRIES):
        ranks = wide_ranks(subject.graph, seed, others, fixed, keeps_ends=keeps_ends)
        try:
            streams = wide_streams(subject, ranks, reason)
        except NodeNotWide as error:
            fixed.add(error.node.index)
            reason = reason or f"{error.node.written}: {error}"
            continue
        for each in subject.graph.inputs:
            reader = subject.consumers.get(each)
            if ranks.made[each] and not ranks.read[each] and reader is not None:
                raise NotWide(reason or f"{reader.written}, which reads an input, takes single elements")
        if not any(_does_more(subject, streams, node) for node in subject.graph.nodes):
            raise NotWide(reason or "no operator would do more at once")
        return streams
    raise NotWide(reason)


def _does_more(subject: RewriteSubject, streams: WideStreams, node: TypedNode) -> bool:
    return node.index in streams.functions and any(streams.ranks.read[each] for each in node.inputs)
