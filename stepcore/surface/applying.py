"""What ``.apply(...)`` does in a script: type, run, consume.

Where the streams carry data the operator also runs at once (:mod:`stepcore.sim.eager`, loaded then). Mistakes raise
:class:`stepcore.findings.diagnostics.StepError` with the code and the message of the checker.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.ops.base import Operand, Operator, RuleError, TypingContext, need_common
from stepcore.ops.calling import NOTHING, flat
from stepcore.ops.pace import LoopPart
from stepcore.surface.callers import caller, name_of, names_that_take
from stepcore.surface.consuming import bind_fresh, consume_check, mark_consumed, merged_sizes
from stepcore.surface.origins import after, comes_from_published, mark_of, new_mark
from stepcore.surface.stream import Stream, StreamSizes, is_stream
from stepcore.types import StreamType


class EagerContext(TypingContext):
    """Typing context of one application in a script: derived sizes are named by streams as no others of the process."""

    def __init__(self, bindings: dict[str, int], streams: Sequence[Stream]) -> None:
        super().__init__(bindings)
        self._streams = streams
        self.marks: dict[int, str] = {}  # of results that sizes are named by, by their places

    def result(self, made: StreamType, place: int) -> Operand:
        """See the base class."""
        return Operand(made, "the selector", -1 - place)

    def origin(self, operand: Operand) -> str:
        """See the base class; ``operand.stream`` is its place among the inputs."""
        if operand.stream < 0:
            place = -1 - operand.stream
            return self.marks.get(place) or self.marks.setdefault(place, new_mark("s"))
        return mark_of(self._streams[operand.stream].origin, operand.name)

    def is_published(self, operand: Operand) -> bool:
        """See the base class."""
        return comes_from_published(self._streams[operand.stream].origin)


def execute(op: Operator, given: Any, name: str) -> Any:
    """Type, run and consume: what ``op.apply(given, name)`` does.

    Raises:
        StepError: what the checker would report, or a failure while running.
    """
    streams = flat_inputs(op, given)
    frame = caller()
    consume_check(streams, frame)
    bindings = merged_sizes(streams)
    context, types = _infer(op, streams, bindings, frame)
    carried = [stream for stream in streams if stream.has_data]
    if carried and not all(stream.has_data or stream.waits is not None for stream in streams):
        bare = next(stream for stream in streams if not stream.has_data and stream.waits is None)
        named = _operand_names(op, streams, frame)
        names = named[streams.index(bare)], named[streams.index(carried[0])]
        text = f"{names[0]} carries no data, but {names[1]} does; set the data of both or of none"
        raise StepError("STEP205", text)
    labels = [f"{name}[{slot}]" for slot, _ in enumerate(types)] if name and len(types) > 1 else [name] * len(types)
    outputs = [Stream.typed(label, type_, context.facts) for label, type_ in zip(labels, types, strict=True)]
    settled = context.take_settled(op)
    is_waiting = op.looping is LoopPart.BEGINS or any(stream.waits is not None for stream in streams)
    if is_waiting:
        from stepcore.surface.loops import record  # few scripts have loops

        record(op, settled, streams, outputs)
    elif carried or not streams:
        from stepcore.sim.eager import eager_run

        for stream, tensors in zip(outputs, eager_run(settled, streams, types, bindings), strict=True):
            stream._data = tensors
            bind_fresh(stream, bindings)
    origins = [stream.origin for stream in streams]
    for stream in outputs:
        stream.ctx = StreamSizes(bindings)
        stream.origin = after(op, origins, stream.name, stream.type)
    for number, mark in context.marks.items():
        outputs[number].origin = replace(outputs[number].origin, mark=mark)
    mark_consumed(streams, frame)
    return handed(op.outputs.of(vars(op)).shape(outputs))


def flat_inputs(op: Operator, given: Any) -> list[Stream]:
    """Return the inputs in one list, as :meth:`Operator.infer` takes them; STEP205 where their structure is wrong."""
    if isinstance(given, Stream) and op.inputs.takes_one:
        return [given]
    if op.inputs.fits(given, is_stream) or (given == () and NOTHING in op.inputs.ways):
        return list(given if all(map(is_stream, given)) else flat(given))
    from stepcore.surface import refusals

    raise refusals.wrong_structure(op, given)


def _refuse(operator: type[Operator], arguments: Sequence[Any], params: Mapping[str, Any]) -> StepError:
    from stepcore.surface import refusals  # what is said about mistakes is loaded with the first one

    return refusals.refuse(operator, arguments, params)


def _misapply(operator: type[Operator], op: object, given: Sequence[Any], named: Mapping[str, Any]) -> StepError:
    from stepcore.surface import refusals

    return refusals.misapply(operator, op, given, named)


def _memory_of(value: Any) -> Any:
    from stepcore.surface.memory import memory_of  # few scripts have some

    return memory_of(value)


class _Handed:
    """Streams that an operator gives: taken apart into another number of names, they say what gives how many."""

    def __iter__(self) -> Any:
        items: Any = super().__iter__()  # type: ignore[misc]
        frame = sys._getframe(1)
        taken = names_that_take(frame)
        count: int = len(self)  # type: ignore[arg-type]
        if taken is not None and (count < taken[0] or (taken[1] >= 0 and count > taken[1])):
            from stepcore.surface import refusals

            raise refusals.other_number(frame, taken[0], list(items))
        return items


@cache
def _handed(kind: type) -> Any:
    return type(kind.__name__, (_Handed, kind), {})


def handed(value: Any) -> Any:
    """Return the outputs of an operator as a script gets them: lists and tuples that explain themselves."""
    if not isinstance(value, (list, tuple)):
        return value
    kind, items = _handed(type(value)), value if all(map(is_stream, value)) else map(handed, value)
    return kind(*items) if hasattr(value, "_fields") else kind(items)


def _infer(
    op: Operator, streams: Sequence[Stream], bindings: dict[str, int], frame: FrameType | None
) -> tuple[EagerContext, tuple[StreamType, ...]]:
    context = EagerContext(bindings, streams)
    for stream in streams:
        context.facts.absorb(stream.facts)
    need_common(op, context)
    try:
        return context, op.infer([Operand(stream.type, stream.name, i) for i, stream in enumerate(streams)], context)
    except RuleError:
        # Once more with the names that the caller's variables have: looking them up is slow.
        named = enumerate(zip(streams, _operand_names(op, streams, frame), strict=True))
        return context, op.infer([Operand(stream.type, name, i) for i, (stream, name) in named], context)


def _operand_names(op: Operator, streams: Sequence[Stream], frame: FrameType | None) -> list[str]:
    """Return what messages call the inputs: their names, else which argument each of them is."""
    return [name_of(stream, frame) or op.inputs.ordinal(index, len(streams)) for index, stream in enumerate(streams)]


def _end_loop(op: Operator, given: Any) -> None:
    from stepcore.surface.loops import close  # few scripts have loops

    ready = close(op, given)
    if ready is None:
        return
    from stepcore.sim.eager import run_loops

    run_loops(ready.graph, ready.outside, ready.made)
    ready.bind()


Operator.execute = staticmethod(execute)
Operator.end_loop = staticmethod(_end_loop)
Operator.refuse = staticmethod(_refuse)
Operator.misapply = staticmethod(_misapply)
Operator.memory_of = staticmethod(_memory_of)
