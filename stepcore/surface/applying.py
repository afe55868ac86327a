"""What ``.apply(...)`` does in a script: type, run, consume.

Where the streams carry data the operator also runs at once (:mod:`stepcore.sim.eager`, loaded then). Mistakes raise
:class:`stepcore.findings.diagnostics.StepError` with the code and the message of the checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from itertools import count
from types import FrameType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.ops.base import InputKind, Operand, Operator, OutputKind, RuleError, TypingContext
from stepcore.sizes.dim import Dim
from stepcore.surface.callers import Cell, caller, cell, name_of, place
from stepcore.surface.origins import after
from stepcore.surface.stream import Stream, size_values
from stepcore.text.wording import what_is
from stepcore.types import StreamType

# A verification collects the findings that do not stop a program: overuse, and outputs other than declared.
FINDINGS: ContextVar[list[StepError] | None] = ContextVar("stepsmith_findings", default=None)
_FRESH = count(1)


class EagerContext(TypingContext):
    """Typing context of one application in a script; fresh symbols are unique in the process."""

    def fresh(self) -> Dim:
        """Return a symbol that no other stream has."""
        return Dim.symbol(f"?{next(_FRESH)}")


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
    if carried and len(carried) != len(streams):
        bare = next(stream for stream in streams if not stream.has_data)
        named = _operand_names(op, streams, frame)
        names = named[streams.index(bare)], named[streams.index(carried[0])]
        text = f"{names[0]} carries no data, but {names[1]} does; set the data of both or of none"
        raise StepError("STEP205", text)
    outputs = [_output(op, type_, slot, len(types), name) for slot, type_ in enumerate(types)]
    if carried:
        from stepcore.sim.eager import eager_run

        for stream, tensors in zip(outputs, eager_run(op, streams, types, bindings), strict=True):
            stream._data = tensors
            _bind_fresh(stream, bindings)
    for stream in outputs:
        stream.ctx, stream.facts = dict(bindings), context.facts
        stream.origin = after(op, [given.origin for given in streams], stream.name, stream.type)
    mark_consumed(streams, frame)
    match op.outputs:
        case OutputKind.ONE:
            return outputs[0]
        case OutputKind.PAIR:
            return (outputs[0], outputs[1])
        case OutputKind.LIST:
            return outputs


def flat_inputs(op: Operator, given: Any) -> list[Stream]:
    """Return the inputs in one list, as :meth:`Operator.infer` takes them; STEP205 where their structure is wrong."""
    name = type(op).__name__
    is_list = isinstance(given, (tuple, list))
    well, way_out = False, ""
    found: list[Any] = list(given) if is_list else [given]
    match op.inputs:
        case InputKind.ONE:
            well, way_out = not is_list, "Zip several streams into one first"
        case InputKind.ONE_OR_TUPLE:
            well, way_out = not is_list or len(found) >= 2, "pass a stream, or a tuple of at least two"
        case InputKind.PAIR:
            well, way_out = is_list and len(found) == 2, "write .apply((A, B))"
        case InputKind.BRANCHES_AND_SELECTOR:
            well = is_list and len(found) == 2 and isinstance(found[0], (tuple, list)) and bool(found[0])
            found = [*found[0], found[1]] if well else found
            way_out = "write .apply(([A, B], SELECTOR))"
    stranger = next((item for item in found if not isinstance(item, (Stream, list, tuple))), None)
    if stranger is not None:
        raise StepError("STEP205", f"{name} consumes streams, and this is {_describe(stranger)}; pass a stream")
    if not well or not all(isinstance(item, Stream) for item in found):
        what = f"{_describe(given)} of {len(found)}" if is_list else _describe(given)
        raise StepError("STEP205", f"{name} takes {op.inputs.value}, and this is {what}; {way_out}")
    return found


def consume_check(streams: Sequence[Stream], frame: FrameType | None) -> None:
    """Report STEP101 where a stream is consumed already, or stands twice among ``streams``."""
    here = cell()
    for index, stream in enumerate(streams):
        again = any(stream is other for other in streams[:index])
        if is_run_again(stream.consumed_in, here):
            stream.consumed_at = None  # by what this run replaces
        if stream.consumed_at is None and not again:
            continue
        first = stream.consumed_at or place(frame)
        text = (
            f"{name_of(stream, frame) or 'a stream'} is consumed twice, but a stream is drained by its first consumer; "
            f"insert a Copy (first consumed at {first})"
        )
        report(StepError("STEP101", text))


def report(error: StepError) -> None:
    """Raise ``error``, or note it where a verification collects such findings and goes on."""
    findings = FINDINGS.get()
    if findings is None:
        raise error
    findings.append(error)


def mark_consumed(streams: Sequence[Stream], frame: FrameType | None) -> None:
    """Remember that ``streams`` are drained, and where."""
    here = cell()
    for stream in streams:
        stream.consumed_at, stream.consumed_in = place(frame), here


def is_run_again(before: Cell | None, now: Cell | None) -> bool:
    """Whether ``now`` is another run of the same cell of a notebook, whose results replace those of the run before."""
    return before is not None and now is not None and before.cell == now.cell and before.run != now.run


def merged_sizes(streams: Sequence[Stream]) -> dict[str, int]:
    """Return the bindings of all ``streams``; STEP207 where two of them bind a size differently."""
    merged: dict[str, int] = {}
    origin: dict[str, Stream] = {}
    for stream in streams:
        for key, value in size_values(stream.ctx).items():
            if merged.setdefault(key, value) != value:
                first = origin[key].label
                text = f"{key} is {merged[key]} for {first} but {value} for {stream.label}; give both the same ctx"
                raise StepError("STEP207", text)
            origin.setdefault(key, stream)
    return merged


def _infer(
    op: Operator, streams: Sequence[Stream], bindings: dict[str, int], frame: FrameType | None
) -> tuple[TypingContext, tuple[StreamType, ...]]:
    context = EagerContext(bindings)
    for stream in streams:
        context.facts.absorb(stream.facts)
    try:
        return context, op.infer([Operand(stream.type, stream.name) for stream in streams], context)
    except RuleError:
        # Once more with the names that the caller's variables have: looking them up is slow.
        named = zip(streams, _operand_names(op, streams, frame), strict=True)
        return context, op.infer([Operand(stream.type, name) for stream, name in named], context)


def _operand_names(op: Operator, streams: Sequence[Stream], frame: FrameType | None) -> list[str]:
    """Return what messages call the inputs: their names, else which argument each of them is."""
    return [name_of(stream, frame) or op.ordinal(index, len(streams)) for index, stream in enumerate(streams)]


def _output(op: Operator, type_: StreamType, slot: int, slots: int, name: str) -> Stream:
    label = f"{name}[{slot}]" if name and slots > 1 else name
    stream = Stream(label, type_.element, type_.rank, type_.shape)
    stream.type = type_
    return stream


def _bind_fresh(stream: Stream, bindings: dict[str, int]) -> None:
    """Add the sizes that only the data know: those of Partition's outputs."""
    for size, found in zip(reversed(stream.shape), stream.data[0].shape, strict=False):
        if size.is_symbol and str(size) not in bindings:
            bindings[str(size)] = int(found)


def _describe(given: object) -> str:
    match given:
        case Stream():
            return "one stream"
        case list():
            return "a list"
        case tuple():
            return "a tuple"
        case Operator():
            return f"the operator {type(given).__name__}, not applied"
        case _ if type(given).__module__.startswith("torch"):
            return "a tensor; make a stream of it with step.Stream.of"
        case None | bool() | int() | float() | str():
            return repr(given)
        case _:
            return what_is(given)


Operator.execute = staticmethod(execute)
