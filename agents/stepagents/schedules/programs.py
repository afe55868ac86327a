"""A schedule's program: its specification, its text, what it costs, and the checked graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import ScheduleCosts
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.writer import MemoryView, Writer
from stepcore.check.programs import Checked, ImplChecker
from stepcore.costs.metrics import Metrics, measure
from stepcore.findings.diagnostics import Severity
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.graph.ir import OutputPort, Port, ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, SourceFile
from stepcore.timing.hardware import Hardware
from stepcore.types import Scalar, StreamType

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction, TracedInput

_NORMAL: Final = "torch.randn"  # how data are drawn where nothing is said


@dataclass  # without slots: what is derived is kept
class Tiled:
    """One program of a schedule. ``multiples`` are what each size has to be a multiple of; ``cycles`` once timed.

    ``least`` are the smallest sizes to verify it at, where those are not the multiples; ``bounded`` the sizes that
    whole numbers of an input do not exceed; ``views`` tensors whose memory has other sizes; ``read_again`` how often a
    run may hold each of its tensors at most.
    """

    spec: ProgramSpec
    impl: str
    costs: ScheduleCosts
    schedule: str
    multiples: Mapping[str, int]
    estimated_bytes: int
    cycles: int | None = None
    least: Mapping[str, int] = field(default_factory=dict)
    bounded: Mapping[str, Dim] = field(default_factory=dict)
    views: Mapping[str, MemoryView] = field(default_factory=dict)
    read_again: int = 1

    @cached_property
    def checked(self) -> Checked:
        """The checked program.

        Raises:
            NoSchedule: checking it finds an error, which is a defect of Stepsmith.
        """
        return checked_program(self.spec, self.impl)

    @property
    def metrics(self) -> Metrics:
        """Bytes on and off chip."""
        return measure(self.spec, self.checked.typed)


def tiled(
    traced: TracedFunction,
    writer: Writer,
    memory: str,
    result: tuple[Dim, ...],
    schedule: str,
    bound: Mapping[str, int],
    chip: Hardware,
) -> Tiled:
    """Return what ``writer`` has written as a program."""
    impl = writer.text(writer.costs.dispatch(chip))
    spec = program_spec(traced, impl, writer.fns, (memory, result), bound, views=writer.views)
    divisors, kept = dict(writer.divisors), _estimated(writer)
    return Tiled(
        spec, impl, writer.costs, schedule, divisors, kept,
        least=writer.least, bounded=writer.bounded, views=writer.views,
    )  # fmt: skip


def program_spec(
    traced: TracedFunction,
    impl: str,
    fns: Sequence[FnDecl],
    result: tuple[str, tuple[Dim, ...]],
    bound: Mapping[str, int],
    inputs: tuple[Port, ...] = (),
    views: Mapping[str, MemoryView] | None = None,
    read: Collection[str] | None = None,
) -> ProgramSpec:
    """Return the specification of a program that reads tensors of ``traced`` off chip and ``inputs`` as streams.

    ``result`` are the name of the memory that it writes, and its sizes, outermost first; ``views`` tensors whose memory
    has other sizes. ``read`` are the tensors that the program reads, those that it loads by name where it is None.
    """
    if read is None:
        read = {item.name for item in traced.inputs if f"tensor={item.name}," in impl}
    seen = {name: view.dims for name, view in (views or {}).items()}
    ports = [_port(item, seen.get(item.name, item.dims)) for item in traced.inputs if item.name in read]
    memory, dims = result
    out = _memory_type(dims, traced.outputs[0].dtype)
    symbols = tuple(dict.fromkeys((*PREDECLARED_SYMBOLS, *bound)))
    named = {symbol for port in (*inputs, *ports) for size in port.type.shape for symbol in size.symbols()}
    named |= {symbol for size in dims for symbol in size.symbols()}
    return ProgramSpec(
        name=traced.name,
        inputs=inputs,
        parameters=(*ports, Port(memory, out, written=True)),
        fns=tuple(fns),
        outputs=(OutputPort("S0", out, memory=memory),),
        scope=FnScope(None, (*(port.name for port in ports), memory), (), symbols),
        defaults=tuple((name, size) for name, size in bound.items() if name in named),
    )


def _port(item: TracedInput, dims: tuple[Dim, ...]) -> Port:
    """Return a tensor of the user's as a parameter; whole numbers are drawn below what the checks found out."""
    memory = _memory_type(dims, item.dtype)
    if item.dtype != "fp32":
        return Port(item.name, memory, minimum=item.least, maximum=None if item.below is None else item.below - 1)
    return Port(item.name, memory, None if item.data_gen == _NORMAL else item.data_gen)


def _memory_type(dims: tuple[Dim, ...], scalar: str = "fp32") -> StreamType:
    """Return the type of a tensor in memory; one of one dimension is a matrix of one row."""
    shape = tuple(reversed(dims)) if len(dims) > 1 else (*dims, Dim.of(1), Dim.of(1))[:2]
    return StreamType(Scalar(scalar), shape)


def _estimated(writer: Writer) -> int:
    loads = sum(2 * each.ports * each.bursts for each in writer.costs.loads) * writer.burst
    return loads + writer.costs.kept


def checked_program(spec: ProgramSpec, impl: str) -> Checked:
    """Return a program, checked.

    Raises:
        NoSchedule: checking it finds an error.
    """
    source = SourceFile("tiled.step.yaml", "")
    task = TaskFile(source, source, spec=spec)
    checked = ImplChecker(task).check(Embedded.whole(impl))
    errors = [item for item in checked.diagnostics if item.severity is Severity.ERROR]
    if errors or not checked.runnable:
        what = f"{errors[0].code} {errors[0].message}" if errors else "the program is incomplete"
        raise NoSchedule(f"a program that was written is refused, a defect of Stepsmith: {what}")
    return checked
