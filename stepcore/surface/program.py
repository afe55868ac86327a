"""Programs in scripts: ``@step.program(...)`` makes a function of streams that also knows its own test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints, overload

from stepcore.findings.diagnostics import StepError
from stepcore.ops.base import element_mismatch, mismatch
from stepcore.sizes.dim import Dim, Facts
from stepcore.surface import applying  # noqa: F401  what operators do in scripts
from stepcore.surface.callers import caller
from stepcore.surface.consuming import SIZES, consume_check, mark_consumed, merged_sizes, report
from stepcore.surface.elements import as_element
from stepcore.surface.functions import DECLARED, NAMES, ScriptNames
from stepcore.surface.signature import Signature
from stepcore.surface.stream import Stream, StreamSizes, bind, no_sizes, size_values
from stepcore.text.wording import counted, what_is
from stepcore.types import StreamType, as_shape, same_element, same_shape, tensor_shapes

if TYPE_CHECKING:
    from torch import Tensor
    from torch import Tensor as Param

    from stepcore.findings.verdict import Verdict
else:

    class Param:
        """Marks a weight in annotations: ``Annotated[step.Param, step.f32, (K, D)]``; a tensor inside the program.

        ``step.Param(written=True)`` marks one that the program may write.
        """

        def __init__(self, *, written: bool = False) -> None:
            self.written = written


class Program:
    """A STeP program: call it on streams that carry data, or verify it against its reference.

    ``reference`` is a function of the input tensors, and of the parameters by name, that returns one tensor per output
    component. ``dims`` binds sizes for :meth:`verify`. ``data`` says per input how test data are drawn: the
    name of a generator such as ``"torch.rand"``, or for a selector the least and the largest number of ones.
    ``sizes`` says how large dynamic and ragged sizes of inputs get, by bounds or values: ``{"?L": (0, 64)}``.
    ``layouts`` says which elements of which tensor of the reference an input holds, and by ``S0``, ``S1``, ... how
    results are put together (:mod:`stepcore.sim.layout`). ``fault`` is what is wrong with reference and sizes; it is
    raised by whoever uses the program and not where it is made: the others of its file can be used in any case.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        *,
        reference: Callable[..., Any] | None,
        dims: Mapping[str, int],
        name: str | None,
        data: Mapping[str, str | tuple[int, int]],
        constraints: str | None,
        layouts: Mapping[str, str] | None = None,
        sizes: Mapping[str, tuple[int, int] | Sequence[int]] | None = None,
    ) -> None:
        update_wrapper(self, body)
        self.__wrapped__ = body
        self.name = name or body.__name__
        self.reference = reference
        self.dims = dict(dims)
        self.fault = _no_function(reference) or no_sizes(dims, f"the program {self.name}")
        self.data = dict(data)
        self.constraints = constraints
        self.layouts = dict(layouts or {})
        self.sizes = dict(sizes or {})

    @cached_property
    def signature(self) -> Signature:
        """What the annotations declare.

        Raises:
            StepError: STEP222 where a parameter has no usable annotation.
        """
        try:
            hints = get_type_hints(self.__wrapped__, localns=_closure(self.__wrapped__), include_extras=True)
        except (NameError, TypeError) as error:
            raise StepError("STEP222", f"the annotations of {self.name} cannot be read: {error}") from error
        inputs: dict[str, StreamType] = {}
        parameters: dict[str, StreamType] = {}
        written: list[str] = []
        for parameter in inspect.signature(self.__wrapped__).parameters.values():
            is_param = parameter.kind is parameter.KEYWORD_ONLY
            marker = Param if is_param else Stream
            type_ = _annotated(hints.get(parameter.name), marker, f"{parameter.name} of {self.name}")
            (parameters if is_param else inputs)[parameter.name] = type_
            if is_param and getattr(get_args(hints[parameter.name])[0], "written", False):
                written.append(parameter.name)
        return Signature(inputs, parameters, self._outputs(hints.get("return"), written), frozenset(written))

    def _outputs(self, hint: object, written: Sequence[str]) -> tuple[StreamType, ...] | None:
        if hint is None or (hint is type(None) and not written):
            return None
        if hint is type(None):
            return ()
        items = get_args(hint) if get_origin(hint) is tuple else (hint,)
        return tuple(_annotated(item, Stream, f"output {slot} of {self.name}") for slot, item in enumerate(items))

    def __call__(self, *streams: Stream | Tensor | Sequence[Tensor], **parameters: Tensor) -> Any:
        """Run the body on ``streams`` (tensors are accepted too), which are consumed, and return its output streams.

        Raises:
            StepError: the first mistake, with the code and message of the checker.
        """
        self._check_fault()
        declared = self.signature
        if len(streams) != len(declared.inputs):
            names = ", ".join(declared.inputs)
            text = f"{self.name} takes {counted(len(declared.inputs), 'stream')} ({names}), found {len(streams)}"
            raise StepError("STEP205", text)
        frame = caller()
        given = [
            self._as_stream(name, type_, value)
            for (name, type_), value in zip(declared.inputs.items(), streams, strict=True)
        ]
        consume_check(given, frame)
        sizes = {**self.dims, **(merged_sizes(given) if given else _sizes_of(declared.parameters, parameters))}
        inner = [self._inner(name, stream, sizes) for name, stream in zip(declared.inputs, given, strict=True)]
        self._check_parameters(declared.parameters, parameters, sizes)
        held = tuple(
            (parameters[name], name, type_, name in declared.written) for name, type_ in declared.parameters.items()
        )
        tokens = NAMES.set(_names(parameters, sizes)), SIZES.set(sizes), DECLARED.set(held)
        try:
            returned = self.__wrapped__(*inner, **parameters)
        finally:
            NAMES.reset(tokens[0])
            SIZES.reset(tokens[1])
            DECLARED.reset(tokens[2])
        mark_consumed(given, frame)
        if returned is None and declared.written:
            return None
        return self._returned(returned, declared.outputs)

    def apply(self, *tensors: Tensor) -> Any:
        """Run the program on the tensors that its reference takes, laid out as ``layouts`` says; returns tensors.

        One tensor where the program returns one stream, else a tuple. Sizes are those of the tensors.

        Raises:
            StepError: another number of tensors or other shapes than declared, or a mistake in the program.
        """
        from stepcore.sim.hosting import apply_program

        self._check_fault()
        return apply_program(self, tensors)

    def verify(self, seed: int = 42) -> Verdict:
        """Draw inputs with ``seed``, run the program and compare with its reference.

        Raises:
            StepError: STEP411 without a reference, STEP408 where it fails, or a mistake in the program.
        """
        from stepcore.sim.selftest import verify_program

        self._check_fault()
        return verify_program(self, seed)

    def _check_fault(self) -> None:
        if self.fault is not None:
            raise self.fault

    def _as_stream(self, name: str, type_: StreamType, value: Stream | Tensor | Sequence[Tensor]) -> Stream:
        if not isinstance(value, Stream):
            return Stream.of(value, type_.element, type_.shape, None, name)
        facts = value.facts
        if not same_element(type_.element, value.dtype, facts):
            what = f"input {name} of {self.name} holds other elements than declared"
            raise StepError("STEP208", element_mismatch(what, type_.element, value.dtype))
        if not same_shape(type_.shape, value.shape, facts):
            what = f"input {name} of {self.name} has another shape than declared"
            raise StepError("STEP207", mismatch(what, type_.shape, value.shape, facts))
        return value

    def _inner(self, name: str, stream: Stream, sizes: Mapping[str, int]) -> Stream:
        inner = Stream(name, stream.dtype, stream.rank, stream.shape)
        inner.ctx, inner.facts, inner.data = StreamSizes(sizes), stream.facts, stream.data
        return inner

    def _check_parameters(
        self, declared: Mapping[str, StreamType], given: Mapping[str, Tensor], sizes: Mapping[str, int]
    ) -> None:
        wrong = [f"lacks {name}" for name in declared if name not in given]
        wrong += [f"has no parameter {name}" for name in given if name not in declared]
        if wrong:
            raise StepError("STEP203", f"{self.name} {wrong[0]}; it takes {', '.join(declared) or 'no parameters'}")
        for name, tensor in given.items():
            expected = tuple(bind(size, sizes, name) for size in tensor_shapes(declared[name])[0])
            if tuple(tensor.shape) != expected:
                text = f"parameter {name} of {self.name} needs the shape {expected}, found {tuple(tensor.shape)}"
                raise StepError("STEP207", text)

    def _returned(self, returned: Any, declared: tuple[StreamType, ...] | None) -> Any:
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if not outputs or not all(isinstance(stream, Stream) for stream in outputs):
            raise StepError("STEP219", f"{self.name} returns no stream, but {returned!r}; return its output streams")
        if any(stream.waits is not None for stream in outputs):
            raise StepError("STEP229", f"a loop of {self.name} is never closed; end it with loop.close(STREAM)")
        if declared is not None:
            self._check_outputs(outputs, declared)
        consume_check(outputs, None)
        mark_consumed(outputs, None)
        fresh = [_renewed(stream) for stream in outputs]
        return tuple(fresh) if isinstance(returned, (tuple, list)) else fresh[0]

    def _check_outputs(self, found: Sequence[Stream], declared: tuple[StreamType, ...]) -> None:
        if len(found) != len(declared):
            text = f"the program returns {counted(len(found), 'stream')}, and its annotation declares {len(declared)}"
            report(StepError("STEP213", text))
            return
        compared = self._compared(found, declared)
        for stream, wanted in zip(found, declared, strict=True):
            facts = stream.facts if compared is None else compared
            if not same_element(wanted.element, stream.dtype, facts):
                text = element_mismatch("the output holds other elements than declared", wanted.element, stream.dtype)
                report(StepError("STEP214", text))
            elif not same_shape(wanted.shape, stream.shape, facts):
                what = "the output has another shape than declared"
                report(StepError("STEP215", mismatch(what, wanted.shape, stream.shape, facts)))

    def _compared(self, found: Sequence[Stream], declared: tuple[StreamType, ...]) -> Facts | None:
        """Return what compares outputs with what is declared, None for what each of them knows itself."""
        if not any(type_.is_open for type_ in declared):
            return None
        from stepcore.open_types.fits import Fitting  # most programs have static sizes

        facts = Facts()
        for stream in found:
            facts.absorb(stream.facts)
        return Fitting(facts, self.signature.inputs.values())

    def __repr__(self) -> str:
        return f"<step program {self.name}>"


@overload
def program(body: Callable[..., Any], /) -> Program: ...
@overload
def program(
    *,
    reference: Callable[..., Any] | None = None,
    dims: Mapping[Dim, int] | Mapping[str, int] | None = None,
    name: str | None = None,
    data: Mapping[str, str | tuple[int, int]] | None = None,
    constraints: str | None = None,
    layouts: Mapping[str, str] | None = None,
    sizes: Mapping[str, tuple[int, int] | Sequence[int]] | None = None,
) -> Callable[[Callable[..., Any]], Program]: ...
def program(
    body: Callable[..., Any] | None = None,
    /,
    *,
    reference: Callable[..., Any] | None = None,
    dims: Mapping[Dim, int] | Mapping[str, int] | None = None,
    name: str | None = None,
    data: Mapping[str, str | tuple[int, int]] | None = None,
    constraints: str | None = None,
    layouts: Mapping[str, str] | None = None,
    sizes: Mapping[str, tuple[int, int] | Sequence[int]] | None = None,
) -> Program | Callable[[Callable[..., Any]], Program]:
    """Declare a program: a function of annotated streams. See :class:`Program` for the arguments.

    Without any it may stand without brackets: ``@step.program``.
    """

    def decorate(body: Callable[..., Any]) -> Program:
        return Program(
            body,
            reference=reference,
            dims=size_values(dims or {}),
            name=name,
            data=data or {},
            constraints=constraints,
            layouts=layouts,
            sizes=sizes,
        )

    return decorate if body is None else decorate(body)


def _no_function(reference: object) -> StepError | None:
    if reference is None or callable(reference):
        return None
    text = f"step.program needs a function as reference, and this is {what_is(reference)}"
    return StepError("STEP204", f"{text}; write the name of a PyTorch function of the input tensors")


def _sizes_of(declared: Mapping[str, StreamType], given: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the sizes that parameters have, where no stream says any: those of symbols that stand alone."""
    found: dict[str, int] = {}
    for name, type_ in declared.items():
        shape = given[name].shape if name in given else ()
        pairs = zip(tensor_shapes(type_)[0], shape, strict=False)
        found.update((str(size), int(number)) for size, number in pairs if size.is_symbol)
    return found


def _names(parameters: Mapping[str, Any], sizes: Mapping[str, int]) -> ScriptNames:
    values = {f"{key}_value": value for key, value in sizes.items() if key.isidentifier()}
    return ScriptNames({**parameters, "input_data": dict(parameters)}, values)


def _closure(body: Callable[..., Any]) -> dict[str, Any]:
    variables = inspect.getclosurevars(body)
    return dict(variables.nonlocals)


def _annotated(hint: object, marker: object, where: str) -> StreamType:
    kind = "Param" if marker is Param else "Stream"
    parts = get_args(hint) if get_origin(hint) is Annotated else ()
    sizes = parts[2] if len(parts) == 3 else None
    is_marked = bool(parts) and (parts[0] is marker or (marker is Param and isinstance(parts[0], Param)))
    if len(parts) != 3 or not is_marked or not isinstance(sizes, (tuple, list)):
        text = f"{where} needs an annotation such as Annotated[step.{kind}, step.f32, (M, N)], found {hint!r}"
        raise StepError("STEP222", text)
    return StreamType(as_element(parts[1]), as_shape(_sizes(sizes, where)))


def _sizes(sizes: Iterable[object], where: str) -> Iterable[Dim | int]:
    for size in sizes:
        if isinstance(size, bool):
            raise StepError("STEP222", f"sizes of {where} are symbols and integers, found {size!r}")
        try:
            yield Dim.of(size)  # type: ignore[arg-type]
        except TypeError as error:
            raise StepError("STEP222", f"sizes of {where} are symbols and integers: {error}") from error


def _renewed(stream: Stream) -> Stream:
    copy = Stream(stream.name, stream.dtype, stream.rank, stream.shape)
    copy.ctx, copy.facts, copy.data = stream.ctx, stream.facts, stream.data
    return copy


__all__ = ["Param", "Program", "program"]
