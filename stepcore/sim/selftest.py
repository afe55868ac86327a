"""``program.verify()``: a script's program on drawn data against its own reference.

Inputs, parameters and references are those of the simulator's :class:`World`; the program runs as Python, so that
closures and notebooks work as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor

from stepcore.costs.bounds import Bounds
from stepcore.findings.diagnostics import StepError
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Comparison, FunctionalPart, MismatchPlace, Untested, Verdict, raised
from stepcore.graph.ir import OutputPort, Port, ProgramSpec
from stepcore.graph.layouts import LayoutError, input_layout, output_layout
from stepcore.sim.compare import compare
from stepcore.sim.conditions import Noting
from stepcore.sim.inferring import FLOATING
from stepcore.sim.strength import EXAMINED, not_on
from stepcore.sim.suspected import everything
from stepcore.sim.unsaid import Examined, Runs
from stepcore.sim.world import World
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.surface.consuming import FINDINGS
from stepcore.surface.signature import Signature
from stepcore.surface.stream import Stream
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize


class Runnable(Protocol):
    """A program of a script, as far as running it needs: :class:`stepcore.surface.program.Program`."""

    name: str
    reference: Callable[..., Any] | None
    dims: dict[str, int]
    data: dict[str, str | tuple[int, int]]
    layouts: dict[str, str]
    sizes: dict[str, tuple[int, int] | Sequence[int]]

    @property
    def signature(self) -> Signature:
        """What its annotations declare."""

    def __call__(self, *streams: Stream, **parameters: Tensor) -> Any:
        """Return its output streams."""


L = TypeVar("L")


class SelfVerdict(Verdict):
    """A verdict that reads well at a prompt."""

    __slots__ = ()

    def __repr__(self) -> str:
        parts = (("shape", self.shape), ("functional", self.functional), ("affine", self.affine))
        lines = [f"{name:<10} {_state(part.ok, part.detail)}" for name, part in parts]
        error = self.functional.max_abs_error
        if error is not None:
            lines.append(f"largest absolute error {error:.3g}")
        if self.untested is not None:
            lines.append(f"note       {self.untested.coded}")
        return "\n".join(("accepted" if self.accepted else "not accepted", *lines))


def verify_program(program: Runnable, seed: int) -> SelfVerdict:
    """Return the verdict on ``program``. What the program or its reference does wrong is part of the verdict.

    Raises:
        StepError: the declaration itself is unusable: annotations, sizes or data generators.
    """
    start = perf_counter()
    spec = program_spec(program)
    findings: list[StepError] = []
    token = FINDINGS.set(findings)
    try:
        functional, mismatch = _functional(program, spec, seed)
        untested = None
        if functional.ok:
            FINDINGS.set([])  # on other data the same streams are consumed again
            functional, mismatch, untested = _strengthened(program, spec, seed, functional)
    except StepError as error:
        findings.append(error)
        functional = FunctionalPart(False, "not run: the program has errors", code=error.code)
        mismatch = untested = None
    finally:
        FINDINGS.reset(token)
    shown = raised(findings)
    return SelfVerdict(shown.shape, functional, shown.affine, perf_counter() - start, mismatch, untested=untested)


def program_spec(program: Runnable) -> ProgramSpec:
    """Return what the annotations of ``program`` declare; nothing of its body.

    Raises:
        StepError: an annotation or a layout is unusable.
    """
    declared = program.signature
    outputs = declared.outputs
    return ProgramSpec(
        name=program.name,
        inputs=tuple(
            replace(_port(name, type_, program.data.get(name)), layout=_layout(program, name, input_layout))
            for name, type_ in declared.inputs.items()
        ),
        parameters=tuple(
            replace(_port(name, type_, program.data.get(name)), written=name in declared.written)
            for name, type_ in declared.parameters.items()
        ),
        outputs=None
        if outputs is None
        else (
            *(
                OutputPort(f"S{i}", type_, layout=_layout(program, f"S{i}", output_layout))
                for i, type_ in enumerate(outputs)
            ),
            *(
                OutputPort(name, type_, memory=name)
                for name, type_ in declared.parameters.items()
                if name in declared.written
            ),
        ),
        drawn=_drawn(program),
        defaults=tuple({**DEFAULT_SIZES, **program.dims}.items()),
    )


def _drawn(program: Runnable) -> tuple[DrawnSize, ...]:
    """Return what is drawn for dynamic and ragged sizes; :mod:`stepcore.frontend.drawing` reads the same from text."""
    if not program.sizes:
        return ()
    from stepcore.open_types.drawn import drawn_size  # most programs have static sizes

    try:
        return tuple(
            drawn_size(str(name), how, None)
            if isinstance(how, tuple) and len(how) == 2
            else drawn_size(name, None, how)
            for name, how in program.sizes.items()
        )
    except (TypeError, ValueError) as error:
        raise StepError("STEP907", f"the sizes of {program.name} cannot be drawn: {error}") from error


def _layout(program: Runnable, name: str, read: Callable[[str], L]) -> L | None:
    try:
        text = program.layouts.get(name)
        return read(text) if text else None
    except LayoutError as error:
        raise StepError("STEP907", f"the layout of {name} cannot be used: {error}") from error


def _port(name: str, type_: StreamType, data: str | tuple[int, int] | None) -> Port:
    if data is None or isinstance(data, str):
        return Port(name, type_, data)
    least, most = data
    return Port(name, type_, None, least, most)


def _functional(program: Runnable, spec: ProgramSpec, seed: int) -> tuple[FunctionalPart, Any]:
    if program.reference is None:
        text = "there is no reference to compare with; give the program one with reference="
        return FunctionalPart(False, text, code="STEP411"), None
    try:
        first = _compared(program, spec, seed, torch.float32)
        second = None if first.mismatch is None else _compared(program, spec, seed, torch.float64)
    except SimError as error:
        return error.judged(), None
    return first.judged(second), (second or first).mismatch


def _strengthened(
    program: Runnable, spec: ProgramSpec, seed: int, functional: FunctionalPart
) -> tuple[FunctionalPart, MismatchPlace | None, Untested | None]:
    """Run a program that is right on stronger data, too, where those drawn say too little."""
    if Bounds(spec, spec.bindings()).fixed > EXAMINED:
        return functional, None, None
    world = World(spec, spec.bindings(), seed, program.reference, torch.float64)
    examined = Examined.of(world)
    strength = examined.strength
    for recipe, data in strength.further:
        try:
            found = _compared_in(program, spec, world.varied(data))
        except SimError as error:
            return error.judged(), None, None
        if not found.ok:
            detail = f"{not_on(recipe.text)}: {found.detail}"
            errors = functional.max_abs_error, found.max_abs_error
            return FunctionalPart(False, detail, *errors, found.code), found.mismatch, None

    def run(other: World) -> Comparison:
        return _compared_in(program, spec, other)

    def note(other: World) -> Noting:
        noting = Noting(other.drawn, other.limits, python=True)
        with noting:
            _results(program, spec, other)
        return noting

    drawn = World(spec, spec.bindings(), seed, program.reference, torch.float32)
    try:
        runs = Runs(run, note, lambda other: _results(program, spec, other))
        kinds = {each.dtype for tensors in drawn.drawn.values() for each in tensors}
        counts, halves = any(not kind.is_floating_point for kind in kinds), torch.float16 in kinds
        said = examined.say(
            drawn, runs, strength.untested, decides=True, recipes=everything(spec), counts=counts, halves=halves
        )
    except SimError as error:
        return error.judged(), None, None
    if said.wrong is not None:
        found = said.wrong.found
        errors = functional.max_abs_error, found.max_abs_error
        return FunctionalPart(False, f"{said.wrong.text}: {found.detail}", *errors, found.code), found.mismatch, None
    return functional, None, said.untested


def _compared(program: Runnable, spec: ProgramSpec, seed: int, floating: torch.dtype) -> Comparison:
    """Run program and reference on the same data, in fp32 or fp64."""
    # Drawn before the precision changes: a run in fp64 sees the same numbers.
    return _compared_in(program, spec, World(spec, spec.bindings(), seed, program.reference, floating))


def _compared_in(program: Runnable, spec: ProgramSpec, world: World) -> Comparison:
    with _precision(world.dtype), torch.inference_mode():
        references = world.references()
    return compare(_results(program, spec, world), references)


def _results(program: Runnable, spec: ProgramSpec, world: World) -> list[list[Tensor]]:
    with _precision(world.dtype), torch.inference_mode():
        drawn = zip(spec.inputs, world.inputs, strict=True)
        written = {port.name for port in spec.parameters if port.written}
        given = {name: tensor.clone() if name in written else tensor for name, tensor in world.parameters.items()}
        returned = program(*(_stream(port, data.dense(), spec) for port, data in drawn), **given)
    outputs = list(returned) if isinstance(returned, tuple) else [] if returned is None else [returned]
    results = [*(stream.data for stream in outputs), *([given[port.name]] for port in spec.parameters if port.written)]
    if spec.outputs is None:
        results = [[tensor for tensors in results for tensor in tensors]]
    return results


def _stream(port: Port, tensors: list[Tensor], spec: ProgramSpec) -> Stream:
    stream = Stream(port.name, port.type.element, port.type.rank, port.type.shape)
    stream.ctx = dict(spec.bindings())
    stream.data = tensors
    return stream


@contextmanager
def _precision(floating: torch.dtype) -> Iterator[None]:
    """Let ``fp32`` stand for ``floating``, also where a function makes tensors of its own."""
    before, token = torch.get_default_dtype(), FLOATING.set(floating)
    torch.set_default_dtype(floating)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        FLOATING.reset(token)


def _state(ok: bool, detail: str) -> str:
    word = "ok" if ok else "failed"
    return f"{word}: {detail}" if detail else word
