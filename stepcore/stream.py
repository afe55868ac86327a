"""Streams that a script handles: ``step.Stream``, and what ``.apply(...)`` does with them.

Typing needs no tensor. Where the streams carry data the operator also runs at once (:mod:`stepcore.sim.eager`, loaded
then). Mistakes raise :class:`stepcore.diagnostics.StepError` with the code and the message of the checker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any

from stepcore.callers import caller, name_of, place
from stepcore.diagnostics import StepError
from stepcore.dim import DEFAULT_SIZES, Dim, DimError, Facts
from stepcore.ops.base import InputKind, Operand, Operator, OutputKind, RuleError, TypingContext
from stepcore.types import (
    Buffer,
    Element,
    Multihot,
    Scalar,
    Shape,
    StreamType,
    STuple,
    Tile,
    as_shape,
    components,
    shape_text,
    tensor_shapes,
)

if TYPE_CHECKING:
    from torch import Tensor

# A verification collects the findings that do not stop a program: overuse, and outputs other than declared.
FINDINGS: ContextVar[list[StepError] | None] = ContextVar("stepsmith_findings", default=None)
_FRESH = count(1)


class Stream:
    """A stream of a script: its type, and possibly its values.

    ``ctx`` binds sizes (names or symbols) to integers. ``data`` holds one tensor per tuple component: the stream sizes
    reversed, then the buffer's sizes reversed, then the length of a selector. Setting it checks number, axes and
    dtype of the tensors; their sizes are checked against ``ctx`` at the first use.

    Raises:
        StepError: STEP222 for an unusable element type, STEP207 where ``rank`` does not fit ``shape``.
    """

    def __init__(self, name: str, dtype: Element | Sequence[Any], rank: int, shape: Iterable[Dim | int]) -> None:
        self.name = name
        sizes = as_shape(shape)
        self.type = StreamType(as_element(dtype), sizes)
        if rank != len(sizes) - 1:
            text = f"{name or 'a stream'} of rank {rank} has {rank + 1} sizes, found {len(sizes)}: {shape_text(sizes)}"
            raise StepError("STEP207", text)
        self.ctx: dict[Any, int] = dict(DEFAULT_SIZES)
        self.facts = Facts()
        self.consumed_at: str | None = None
        self._data: list[Tensor] | None = None

    @staticmethod
    def of(
        tensors: Tensor | Sequence[Tensor],
        dtype: Element | Sequence[Any],
        shape: Iterable[Dim | int],
        ctx: Mapping[Any, int] | None = None,
        name: str = "",
    ) -> Stream:
        """Return a stream that carries ``tensors``; symbols take their values from ``ctx``, then from the tensors.

        Raises:
            StepError: as the constructor; STEP207 or STEP208 where the tensors do not fit the type.
        """
        sizes = as_shape(shape)
        stream = Stream(name, dtype, len(sizes) - 1, sizes)
        stream.data = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]  # type: ignore[list-item]
        stream.ctx = dict(ctx or {})
        known = size_values(stream.ctx)
        for expected, tensor in zip(tensor_shapes(stream.type), stream.data, strict=True):
            for size, found in zip(expected, tensor.shape, strict=True):
                if str(size).isidentifier():
                    known.setdefault(str(size), int(found))
        stream.ctx = known
        stream.values()
        return stream

    @property
    def dtype(self) -> Element:
        """Type of one element."""
        return self.type.element

    @property
    def shape(self) -> Shape:
        """Sizes, innermost first."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """Number of sizes minus one."""
        return self.type.rank

    @property
    def data(self) -> list[Tensor]:
        """The values, one tensor per tuple component; None while the stream carries only its type."""
        # Said to be a list, so that scripts which set or run for the data can read them without a check.
        return self._data  # type: ignore[return-value]

    @data.setter
    def data(self, tensors: Sequence[Tensor] | None) -> None:
        if tensors is not None:
            self._check_tensors(tensors)
        self._data = None if tensors is None else list(tensors)

    @property
    def has_data(self) -> bool:
        """True where the stream carries values and not only its type."""
        return self._data is not None

    def _check_tensors(self, tensors: Sequence[Tensor]) -> None:
        items = components(self.type.element)
        if not isinstance(tensors, (list, tuple)) or len(tensors) != len(items):
            found = f"{len(tensors)} values" if isinstance(tensors, (list, tuple)) else f"a {type(tensors).__name__}"
            raise StepError("STEP208", f"data of {self.label} is a list of {len(items)} tensor(s), found {found}")
        from stepcore.sim.eager import check_dtype

        for item, expected, tensor in zip(items, tensor_shapes(self.type), tensors, strict=True):
            check_dtype(f"data of {self.label}", item, tensor)
            if tensor.dim() != len(expected):
                text = f"data of {self.label} needs the shape ({_sizes(expected)}), found ({_sizes(tensor.shape)})"
                raise StepError("STEP207", text)

    def values(self) -> list[Tensor]:
        """Return the data after checking every size against ``ctx``.

        Raises:
            StepError: STEP225 for a size without a value, STEP207 for another size.
        """
        assert self._data is not None, "only called where the stream carries data"
        known = size_values(self.ctx)
        for expected, tensor in zip(tensor_shapes(self.type), self._data, strict=True):
            bound = tuple(bind(size, known, self.label) for size in expected)
            if bound != tuple(tensor.shape):
                text = (
                    f"data of {self.label} needs the shape ({_sizes(expected)}) = ({_sizes(bound)}), "
                    f"found ({_sizes(tensor.shape)}); the sizes come from its ctx"
                )
                raise StepError("STEP207", text)
        return self._data

    @property
    def label(self) -> str:
        """The name for messages."""
        return self.name or "a stream"

    def __repr__(self) -> str:
        state = "types only" if self._data is None else f"data {', '.join(str(tuple(t.shape)) for t in self._data)}"
        return f"Stream({self.name!r}, {self.type}, {state})"


def as_element(dtype: object) -> Element:
    """Return ``dtype`` as an element type; a list or tuple is a tuple of types, a text a scalar.

    Raises:
        StepError: STEP222 for anything else.
    """
    match dtype:
        case Scalar() | Multihot() | Buffer() | Tile() | STuple():
            return dtype
        case list() | tuple():
            return STuple(item for part in dtype for item in components(as_element(part)))
        case str():
            try:
                return Scalar(dtype)
            except ValueError as error:
                raise StepError("STEP222", str(error)) from error
        case _:
            raise StepError("STEP222", f"expected an element type such as step.f32, found {dtype!r}")


def size_values(ctx: Mapping[Any, int]) -> dict[str, int]:
    """Return ``ctx`` with names instead of symbols."""
    return {str(key): value for key, value in ctx.items()}


def bind(size: Dim | int, values: Mapping[str, int], where: str) -> int:
    """Return the integer that ``size`` is.

    Raises:
        StepError: STEP225 for a symbol without a value, STEP211 for a division that leaves a remainder.
    """
    size = Dim.of(size)
    missing = sorted(size.symbols() - values.keys())
    if missing:
        raise StepError("STEP225", f"the size {missing[0]} of {where} has no value; set ctx[{missing[0]}]")
    try:
        return size.bind(values)
    except DimError as error:
        raise StepError("STEP211", str(error)) from error


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
        names = name_of(bare, frame), name_of(carried[0], frame)
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
    for index, stream in enumerate(streams):
        again = any(stream is other for other in streams[:index])
        if stream.consumed_at is None and not again:
            continue
        first = stream.consumed_at or place(frame)
        text = (
            f"{name_of(stream, frame)} is consumed twice, but a stream is drained by its first consumer; "
            f"insert 1 Copy (first consumed at {first})"
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
    for stream in streams:
        stream.consumed_at = place(frame)


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
        return context, op.infer([Operand(stream.type, name_of(stream, frame)) for stream in streams], context)


def _output(op: Operator, type_: StreamType, slot: int, slots: int, name: str) -> Stream:
    label = f"{name}[{slot}]" if name and slots > 1 else name
    stream = Stream(label, type_.element, type_.rank, type_.shape)
    stream.type = type_
    return stream


def _bind_fresh(stream: Stream, bindings: dict[str, int]) -> None:
    """Add the sizes that only the data know: those of Partition's outputs."""
    for size, found in zip(reversed(stream.shape), stream.data[0].shape, strict=False):
        if size.symbols() == {str(size)} and str(size) not in bindings:
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
        case _:
            return repr(given)


def _sizes(sizes: Iterable[Dim | int]) -> str:
    return ", ".join(map(str, sizes))


Operator.execute = staticmethod(execute)
