"""The timing of one program, for whoever asks: command line, editor, jobs.

What cannot be timed is one exception, :class:`stepcore.cycles.program_network.NotTimed`, and all work is bounded: a
program that would take too long is refused with what helps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

from stepcore.check.programs import Checked
from stepcore.cycles.network_of import network_of
from stepcore.cycles.on_chip import KeptOnChip, kept_on_chip
from stepcore.cycles.program_network import NotTimed, OrderNotRun, ProgramNetwork
from stepcore.cycles.routes import ProgramRoutes, routes_without_run
from stepcore.findings.diagnostics import Severity
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.jobdata.choices import TimingEngine
from stepcore.ops.pace import Routing
from stepcore.timing.arrival import Order, run_arrival
from stepcore.timing.exact import Timing, TooLong, UnitTime, Waiting, run
from stepcore.timing.hardware import Hardware
from stepcore.timing.network import Network
from stepcore.timing.recorder import RunRecorder
from stepcore.timing.stops import cure, ring

STEPS: Final = 50_000_000  # of units, in one run: about a minute without machine code
MOST_CYCLES: Final = 1 << 53  # what JSON numbers, and those of editors, hold exactly
MOST_SLOTS: Final = 1 << 21  # of all FIFOs of a program, each of which is remembered


@dataclass(frozen=True)  # without slots: what is derived is kept
class Timed:
    """One program on one chip. ``ring`` and ``cure`` (depths by channel) say why it stopped and what helps.

    ``cure`` is None where looking for one would have taken too long.
    """

    name: str
    spec: ProgramSpec
    graph: TypedGraph
    program: ProgramNetwork
    timing: Timing
    engine: TimingEngine
    ring: tuple[Waiting, ...] = ()
    cure: Mapping[int, int] | None = None

    @property
    def hardware(self) -> Hardware:
        """The chip."""
        return self.program.network.hardware

    @property
    def cycles(self) -> int | None:
        """The cycles of the run; None where it stopped."""
        return None if self.timing.waiting else self.timing.cycles

    @property
    def arrival(self) -> dict[int, tuple[int, ...]]:
        """What arrival decided, by node (:attr:`stepcore.cycles.routes.ProgramRoutes.arrival`)."""
        return {self.program.units[unit]: decided for unit, decided in self.timing.order.items()}

    @property
    def off_chip_bytes(self) -> int:
        """Bytes that were moved, whole bursts."""
        return self.timing.bursts * self.hardware.memory.burst

    @property
    def bandwidth_share(self) -> float:
        """The share of the memory's bandwidth that was used."""
        peak = self.hardware.memory.bandwidth
        return self.off_chip_bytes / (self.timing.cycles * peak) if self.timing.cycles and peak else 0.0

    @property
    def flops(self) -> int:
        """FLOPs of all calls, by the prices of the chip; of what nobody knows, 1 for each element."""
        return sum(self.program.flops.values())

    def peak(self, node: int) -> int:
        """Return the FLOPs per cycle of a node's unit."""
        return self.program.bandwidth.get(node, self.hardware.compute.bandwidth)

    def writer(self, channel: int) -> TypedNode | None:
        """Return the operator that writes into a channel; None for what no operator of the program does."""
        index = self.program.streams.get(channel)
        producer = None if index is None else self.graph.streams[index].producer
        return None if producer is None else self.graph.nodes[producer]

    def called(self, channel: int) -> str:
        """Return the name of a channel's stream, or whose result it is."""
        writer = self.writer(channel)
        unnamed = "a stream" if writer is None else f"the result of {writer.written}"
        return self.program.network.channels[channel].name or unnamed

    @property
    def compute_share(self) -> float:
        """The share of what those units could compute that have functions to apply."""
        could = self.timing.cycles * sum(self.peak(node) for node, flops in self.program.flops.items() if flops)
        return self.flops / could if could else 0.0

    @property
    def on_chip(self) -> int | None:
        """Bytes on chip, FIFOs left out; None where nobody knows those of a part."""
        return None if self.kept.unknown else self.kept.bytes

    @cached_property
    def kept(self) -> KeptOnChip:
        """What is kept on chip, part by part."""
        return kept_on_chip(self.spec, self.graph, self.program)

    @cached_property
    def busiest(self) -> int:
        """The unit that worked, or waited for memory, longest: the bottleneck."""
        return max(range(len(self.timing.units)), key=lambda u: busy(self.timing.units[u]))


def busy(unit: UnitTime) -> int:
    """Return the cycles in which a unit worked or memory worked for it."""
    return unit.worked + unit.memory


def is_timeable(checked: Checked) -> bool:
    """Return whether a program is complete and has no errors."""
    return checked.runnable and not any(found.severity is Severity.ERROR for found in checked.diagnostics)


def why_untimed(checked: Checked) -> str:
    """Return why a program that is not :func:`is_timeable` is not: a finding, or what its text does not tell."""
    if checked.undecided is None:
        return f"{checked.name} has errors: run `stepsmith check`"
    return checked.undecided.message


def time_program(
    checked: Checked,
    chip: Hardware,
    engine: TimingEngine = "exact",
    budget: int = STEPS,
    *,
    recorder: RunRecorder | None = None,
    routes: ProgramRoutes | None = None,
) -> Timed:
    """Time a program at the sizes of its specification; ``budget`` is in steps of units, for each of run and cure.

    ``recorder`` is told what happens when; ``routes`` are those of a functional run, where there was one.

    Raises:
        NotTimed: the program has errors, an operator has no unit, a size is not known, or it would take too long.
        OrderNotRun: ``routes`` are those of a run in another order of arrival, which does not tell enough.
    """
    if not is_timeable(checked):
        raise NotTimed(why_untimed(checked))
    graph = checked.typed
    try:
        program, timing = _run(checked, chip, engine, budget, recorder, routes)
    except TooLong as error:
        raise NotTimed(f"it takes too long to time: {error}; {error.way_out}") from error
    except OverflowError as error:
        raise _too_many_cycles() from error
    if timing.cycles > MOST_CYCLES:
        raise _too_many_cycles()
    if not timing.waiting:
        return Timed(checked.name, checked.spec, graph, program, timing, engine)
    network = program.network
    try:
        depths = cure(network, timing, limit=budget)
    except TooLong:
        depths = None
    return Timed(checked.name, checked.spec, graph, program, timing, engine, ring(network, timing), depths)


def _run(
    checked: Checked,
    chip: Hardware,
    engine: TimingEngine,
    budget: int,
    recorder: RunRecorder | None,
    routes: ProgramRoutes | None,
) -> tuple[ProgramNetwork, Timing]:
    """Run the network of a program; where arrival decides what goes where, until the order is that of the run."""
    spec, graph = checked.spec, checked.typed
    known = routes_without_run(spec, graph, spec.bindings()) if routes is None else routes
    programs: list[ProgramNetwork] = []

    def made(order: Order) -> Network:
        arrival = {programs[-1].units[unit]: decided for unit, decided in order.items()} or known.ran
        try:
            programs.append(network_of(spec, graph, spec.bindings(), chip, replace(known, arrival=arrival)))
        except NotTimed as error:
            if known.source == "run" and arrival and arrival != known.ran:
                raise OrderNotRun(str(error), arrival) from error
            raise
        slots = programs[-1].network.slots()
        if slots > MOST_SLOTS:
            text = f"its FIFOs hold {slots:,} tokens together, and {MOST_SLOTS:,} can be timed: give smaller depths"
            raise NotTimed(text)
        return programs[-1].network

    runs = partial(run, fluid=engine == "fluid", recorder=recorder)
    if any(node.op.routes in (Routing.ARRIVES, Routing.DEALS) for node in graph.nodes):
        _network, timing = run_arrival(made, limit=budget, runs=runs)
    else:
        timing = runs(made({}), limit=budget)
    return programs[-1], timing


def _too_many_cycles() -> NotTimed:
    return NotTimed(f"it takes more than {MOST_CYCLES:,} cycles: give smaller sizes, or a faster chip")
