"""What ``.apply(...)`` does in a script: type, run, consume.

Where the streams carry data the operator also runs at once (:mod:`stepcore.sim.eager`, loaded then). Mistakes raise
:class:`stepcore.findings.diagnostics.StepError` with the code and the message of the checker.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from itertools import count
from types import FrameType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.ops import miscalls
from stepcore.ops.base import Operand, Operator, RuleError, RuleSubject, TypingContext
from stepcore.ops.calling import NOTHING, flat
from stepcore.ops.miscalls import Mistake
from stepcore.sizes.dim import DEFAULT_SIZES, Dim
from stepcore.surface.callers import Cell, caller, cell, name_of, place
from stepcore.surface.origins import after
from stepcore.surface.stream import Stream, size_values
from stepcore.surface.written import Script, leaf_nodes, names_that_take
from stepcore.types import StreamType

# A verification collects the findings that do not stop a program: overuse, and outputs other than declared.
FINDINGS: ContextVar[list[StepError] | None] = ContextVar("stepsmith_findings", default=None)
# The sizes of the program that runs: those of operators without an input.
SIZES: ContextVar[Mapping[str, int]] = ContextVar("stepsmith_sizes", default=DEFAULT_SIZES)
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
    if carried or not streams:
        from stepcore.sim.eager import eager_run

        for stream, tensors in zip(outputs, eager_run(op, streams, types, bindings), strict=True):
            stream._data = tensors
            _bind_fresh(stream, bindings)
    for stream in outputs:
        stream.ctx, stream.facts = dict(bindings), context.facts
        stream.origin = after(op, [given.origin for given in streams], stream.name, stream.type)
    mark_consumed(streams, frame)
    return handed(op.outputs.shape(outputs))


def flat_inputs(op: Operator, given: Any) -> list[Stream]:
    """Return the inputs in one list, as :meth:`Operator.infer` takes them; STEP205 where their structure is wrong."""
    if isinstance(given, Stream) and op.inputs.takes_one:
        return [given]
    if op.inputs.fits(given, _is_stream) or (given == () and NOTHING in op.inputs.ways):
        return list(given if all(map(_is_stream, given)) else flat(given))
    page = Script(caller(), Stream)
    call = page.call(f"{page.operator(type(op).__name__)}(...).apply", (given,), {})
    node = call.args[0] if call.args else next(item.value for item in call.keywords if item.arg == "input")
    mistake = _wrong_inputs(page, type(op), page.name(type(op), call), node, given)
    assert mistake is not None, "its structure is wrong"
    raise _told(mistake)


def _is_stream(value: Any) -> bool:
    return isinstance(value, Stream)


def _wrong_inputs(page: Script, operator: type[Operator], name: str, node: ast.expr, given: Any) -> Mistake | None:
    for leaf, value in leaf_nodes(node, given):
        if not isinstance(value, Stream):
            return miscalls.no_stream(f"{name} takes streams", leaf, value, page)
    if operator.inputs.fits(given, _is_stream):
        return None
    return miscalls.wrong_structure(name, operator.calling, node, given, page)


def refuse(operator: type[Operator], arguments: Sequence[Any], params: Mapping[str, Any]) -> StepError:
    """Return what is wrong with ``operator(*arguments, **params)``: the first thing that the checker would say."""
    page, calling = Script(caller(), Stream), operator.calling
    call = page.call(page.operator(operator.__name__), arguments, params)
    name = page.name(operator, call)
    if arguments:
        unnamed = list(zip(call.args, arguments, strict=True))
        return _told(miscalls.unnamed_parameters(name, calling, unnamed, params, page))
    for keyword, (key, value) in zip(call.keywords, params.items(), strict=True):
        param = calling.by_name.get(key)
        if param is None:
            return _told(miscalls.unknown_parameter(name, calling, key, params), key)
        if not param.kind.accepts(value) and not calling.is_default(key, value):
            return _told(miscalls.wrong_kind(name, calling, param, keyword.value, value, page), key)
    missing = miscalls.missing_parameters(name, calling, params, page)
    assert missing is not None, "nothing else can be wrong"
    return _told(missing)


def misapply(operator: type[Operator], op: object, given: Sequence[Any], named: Mapping[str, Any]) -> StepError:
    """Return what is wrong with ``op.apply(*given, **named)``: the first thing that the checker would say."""
    page = Script(caller(), Stream)
    bare = not isinstance(op, operator)  # step.Map.apply(x): the class has no parameters, and no operator is applied
    head = page.operator(operator.__name__)
    call = page.call(
        f"{head}.apply" if bare else f"{head}(...).apply", (op, *given) if bare and op is not None else given, named
    )
    name, calling = page.name(operator, call), operator.calling
    if bare:
        return _told(miscalls.without_parameters(name, calling, page))
    values = list(zip(call.args, given, strict=True))
    keywords = list(zip(call.keywords, named.values(), strict=True))
    values += [(keyword.value, value) for keyword, value in keywords if keyword.arg == "input"]
    others = [(keyword, value) for keyword, value in keywords if keyword.arg not in ("input", "name")]
    found: list[tuple[ast.expr | ast.keyword, Mistake | None]] = []
    if others:
        found.append((others[0][0], miscalls.wrong_keywords(name, calling, call, others, page)))
    if len(values) == 1:
        found.append((values[0][0], _wrong_inputs(page, operator, name, *values[0])))
    elif values:
        node = ast.copy_location(ast.Tuple([node for node, _ in values], ast.Load()), values[0][0])
        node.end_lineno, node.end_col_offset = values[-1][0].end_lineno, values[-1][0].end_col_offset
        wrong = _wrong_inputs(page, operator, name, node, tuple(value for _, value in values))
        found.append((values[1][0], wrong or miscalls.several_arguments(name, node, page)))
    first = sorted((at.lineno, at.col_offset, mistake.message, mistake) for at, mistake in found if mistake is not None)
    return _told(first[0][-1] if first else miscalls.no_input(name))


def _told(mistake: Mistake, param: str = "") -> RuleError:
    return RuleError(mistake.code, mistake.message, RuleSubject.param(param) if param else None)


class _Handed:
    """Streams that an operator gives: taken apart into another number of names, they say what gives how many."""

    def __iter__(self) -> Any:
        items: Any = super().__iter__()  # type: ignore[misc]
        frame = sys._getframe(1)
        taken = names_that_take(frame)
        count: int = len(self)  # type: ignore[arg-type]
        if taken is not None and (count < taken[0] or (taken[1] >= 0 and count > taken[1])):
            page, made = Script(frame, Stream), list(items)
            maker = page.maker_of_all(made) if all(map(_is_stream, made)) else ""
            outputs = made[0].origin.operator.outputs if maker else None
            raise _told(miscalls.other_number(page.target(taken[0]), count, maker, outputs, page))
        return items


@cache
def _handed(kind: type) -> Any:
    return type(kind.__name__, (_Handed, kind), {})


def handed(value: Any) -> Any:
    """Return the outputs of an operator as a script gets them: lists and tuples that explain themselves."""
    if not isinstance(value, (list, tuple)):
        return value
    kind, items = _handed(type(value)), value if all(map(_is_stream, value)) else map(handed, value)
    return kind(*items) if hasattr(value, "_fields") else kind(items)


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
    """Return the bindings of all ``streams``, without any those of the program that runs.

    Raises:
        StepError: STEP207 where two of them bind a size differently.
    """
    merged: dict[str, int] = {} if streams else dict(SIZES.get())
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
    return [name_of(stream, frame) or op.inputs.ordinal(index, len(streams)) for index, stream in enumerate(streams)]


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


Operator.execute = staticmethod(execute)
Operator.refuse = staticmethod(refuse)
Operator.misapply = staticmethod(misapply)
