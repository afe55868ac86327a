"""Loops in scripts: what follows ``loop.apply()`` waits, and runs when the loop is closed.

All other operators of a script run at once. Those that read what comes back by a loop have types only, until the last
of the loops that hang together is closed; then they run as the loops of programs do, and the streams get their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepcore.check.loops import loop_diagnostics
from stepcore.findings.diagnostics import StepError
from stepcore.graph.ir import Graph, GraphStream, Node
from stepcore.graph.loops import FeedbackEnd, need_fitting
from stepcore.ops import misloops
from stepcore.ops.base import Operand, Operator, TypingContext
from stepcore.ops.miscalls import Mistake
from stepcore.ops.pace import LoopPart
from stepcore.records import Record
from stepcore.surface.callers import caller, name_of
from stepcore.surface.consuming import bind_fresh, consume_check, mark_consumed, merged_sizes
from stepcore.surface.stream import Stream
from stepcore.text.span import Span
from stepcore.text.wording import what_is

_NOWHERE = Span(0, 0)


class Recording:
    """Operators that wait for loops to be closed: a graph, and the streams of the script by their numbers in it."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Operator, list[Stream], list[Stream]]] = []
        self.open: list[Stream] = []  # of loops that are not closed

    def take(self, other: Recording) -> None:
        """Become one with another recording, whose operators stand before what is to come."""
        self.nodes += other.nodes
        self.open += other.open
        for _, inputs, outputs in other.nodes:
            for stream in (*inputs, *outputs):
                if stream.waits is other:
                    stream.waits = self


def record(op: Operator, settled: Operator, inputs: Sequence[Stream], outputs: Sequence[Stream]) -> None:
    """Let ``op`` wait, as its use has ``settled`` it: it begins a loop, or reads what waits for one.

    Raises:
        StepError: STEP229, a loop is applied twice.
    """
    waiting = [stream.waits for stream in inputs if stream.waits is not None]
    if op.looping is LoopPart.BEGINS:
        if "stream" in vars(op):
            raise _told(misloops.applied_twice(misloops.UNNAMED, "step.Copy"))
        vars(op)["stream"] = outputs[0]
        waiting = [Recording()]
        waiting[0].open.append(outputs[0])
    first = waiting[0]
    for other in waiting[1:]:
        if other is not first:
            first.take(other)
    for stream in outputs:
        stream.waits = first
    first.nodes.append((settled, list(inputs), list(outputs)))


def _told(mistake: Mistake) -> StepError:
    return StepError(mistake.code, mistake.message)


def close(op: Operator, given: Any) -> ReadyLoops | None:
    """Consume ``given``, which comes back by the loop ``op``; return what waited for the last loop, if it can run.

    Raises:
        StepError: what the checker would report, or a failure while running.
    """
    if not isinstance(given, Stream):
        raise _told(misloops.closed_by(misloops.UNNAMED, f"found {what_is(given)}"))
    frame = caller()
    name = name_of(given, frame) or "what closes it"
    loop = vars(op).get("stream")
    if loop is None:
        raise _told(misloops.unread())
    recording = loop.waits
    if recording is None or all(each is not loop for each in recording.open):
        raise _told(misloops.closed_twice(misloops.UNNAMED, "step.EagerMerge"))
    consume_check([given], frame)
    checking = TypingContext(merged_sizes([loop, given]))
    checking.facts.absorb(given.facts)
    need_fitting(loop.type, Operand(given.type, name), checking)
    if given.waits is not None and given.waits is not recording:
        recording.take(given.waits)
    mark_consumed([given], frame)
    recording.open = [each for each in recording.open if each is not loop]
    recording.nodes.append((FeedbackEnd.made({"source": loop}), [given], []))
    return None if recording.open else _ready(recording, name)


class ReadyLoops(Record):
    """Operators whose loops are all closed: a graph with the streams ``outside`` as inputs, and those that it makes."""

    recording: Recording
    graph: Graph
    outside: Sequence[Stream]
    made: Sequence[Stream]

    def bind(self) -> None:
        """Let the streams know the sizes that the run found."""
        for _, inputs, outputs in self.recording.nodes:
            for stream in outputs:
                stream.ctx = {**stream.ctx, **(merged_sizes(inputs) if inputs else {})}
                bind_fresh(stream, stream.ctx)


def _ready(recording: Recording, name: str) -> ReadyLoops | None:
    """Return what waited, where the streams from outside carry data."""
    made = [stream for _, _, outputs in recording.nodes for stream in outputs]
    for stream in made:
        stream.waits = None
    outside: list[Stream] = []
    for _, inputs, _ in recording.nodes:
        outside += [one for one in inputs if all(one is not known for known in (*made, *outside))]
    graph = _graph(recording, outside, made)
    graph.streams[graph.nodes[-1].inputs[0]].name = name
    for found in loop_diagnostics(graph, "step.EagerMerge"):
        raise StepError(found.code, found.message)
    return ReadyLoops(recording, graph, outside, made) if all(stream.has_data for stream in outside) else None


def _graph(recording: Recording, outside: Sequence[Stream], made: Sequence[Stream]) -> Graph:
    """Return the operators as a graph, whose inputs are ``outside``."""
    number = {id(stream): index for index, stream in enumerate((*outside, *made))}
    graph = Graph("loop", inputs=list(range(len(outside))), returns=list(range(len(outside), len(number))))
    graph.streams = [
        GraphStream(index, stream.name, _NOWHERE, type=stream.type) for index, stream in enumerate((*outside, *made))
    ]
    for index, (op, inputs, outputs) in enumerate(recording.nodes):
        taken, given = (tuple(number[id(stream)] for stream in streams) for streams in (inputs, outputs))
        made_op = FeedbackEnd.made({"source": number[id(op.source)]}) if isinstance(op, FeedbackEnd) else op
        node = Node(index, type(op).__name__, made_op, taken, given, _NOWHERE, _NOWHERE)
        node.input_spans = (_NOWHERE,) * len(taken)
        graph.nodes.append(node)
        for slot, stream in enumerate(given):
            graph.streams[stream].producer, graph.streams[stream].slot = index, slot
    return graph
