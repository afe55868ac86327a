"""The functional simulator: runs a program graph on test data and compares it with its reference.

A :class:`Session` belongs to one task. It parses nothing: sizes are bound, data is drawn, the reference is computed and
element functions are compiled once, so that verifying one more candidate costs well under a millisecond at the
published sizes. The number of threads is the caller's concern (``torch.set_num_threads``); at these sizes one is
best, and at large ones all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias

import torch
from torch import Tensor

from stepcore.costs.bounds import DEFAULT_LIMIT, Bounds, check_sizes
from stepcore.findings.codes import Outcome, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Comparison, FunctionalPart, Static, Untested, Verdict, static
from stepcore.graph.evaluate import Observer, evaluate
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.layouts import LayoutError
from stepcore.graph.typed import TypedGraph
from stepcore.ops.base import RuleError
from stepcore.records import Record
from stepcore.sim.compare import compare
from stepcore.sim.conditions import Noting
from stepcore.sim.deciding import may_count, may_decide, may_overflow
from stepcore.sim.fnvec import FnRuntimeError
from stepcore.sim.inspect import nan_origin
from stepcore.sim.layout import put_together
from stepcore.sim.ragged import StreamData
from stepcore.sim.runtime import RuntimeImpl
from stepcore.sim.strength import EXAMINED, Recipe, Strength, all_finite, examine_world, not_on
from stepcore.sim.suspected import suspected
from stepcore.sim.unsaid import Examined, Runs, Said
from stepcore.sim.world import Reference, World
from stepcore.sizes.dim import DimError

if TYPE_CHECKING:
    from stepcore.check import Checked
    from stepcore.sim.arrival_ops import ArrivalOrder

MOST_REVERSED: Final = 8  # operators whose order is reversed alone, a run each
_MOST_KNOWN: Final = 64  # programs of one task, that compute other things, of which something is known
_NOTHING_SAID: Final = Said()
_NO_REFERENCE = "there is no reference to compare with; a program has reference=, a task data_transform"


@dataclass(slots=True)
class Run:
    """Results of one run: per returned stream one tensor per component, in full shape.

    ``streams`` holds the data of every stream by its index in the graph where ``keep`` was asked for.
    """

    outputs: list[list[Tensor]]
    streams: list[StreamData] = field(default_factory=list)

    def measured_sizes(self, graph: TypedGraph) -> dict[str, int]:
        """Return the sizes that only the data decide (branches of Partition), by their symbols; needs ``keep``."""
        from stepcore.sim.open_sizes import measured

        return measured(graph, enumerate(self.streams))


@dataclass(slots=True)
class _Computing:
    """What is known of programs that compute the same (:attr:`TypedGraph.steps`): the bytes that a run takes in fp32,
    and what is said of those that are right on the data drawn. None: not yet.
    """

    needed: int | None = None
    said: Said | None = None


class ArrivalMatters(Record):
    """STEP414: results depend on the order in which chunks arrive at the operator of ``node``."""

    node: int
    note: str


Given: TypeAlias = Callable[[torch.dtype], Mapping[str, Sequence[Tensor]]]

# Whether a program may hold conditions, the data it has to be right on, too, whether it counts, whether it has fp16.
_Ways: TypeAlias = tuple[bool, tuple[Recipe, ...], bool, bool]


class Session:
    """Everything about one task that does not depend on the candidate.

    ``dims`` overrides default sizes (not those that the task itself fixes). ``reference`` is the PyTorch function of a
    Python file: it gets the input tensors positionally and the parameters by keyword. ``limit`` bounds the memory
    of a run in bytes, see :mod:`stepcore.costs.bounds`. ``examine=False`` leaves out what verdicts on these data are
    worth (:mod:`stepcore.sim.strength`), for data that only stand beside others. ``given`` returns tensors for a run
    in a dtype, which are taken instead of drawing them.

    Raises:
        SimError: a size is unusable (STEP217, STEP225), the inputs alone exceed the limit (STEP406), or ``global`` or
            ``data_gen`` fails.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        dims: dict[str, int] | None = None,
        seed: int = 42,
        reference: Reference | None = None,
        dtype: torch.dtype = torch.float32,
        limit: int = DEFAULT_LIMIT,
        *,
        examine: bool = True,
        given: Given | None = None,
    ) -> None:
        self.spec = spec
        self._examine = examine
        self.bindings = spec.bindings(dims)
        self._seed = seed
        self._reference = reference
        check_sizes(spec, self.bindings, limit)
        self.limit = limit
        self.bounds = Bounds(spec, self.bindings, limit)
        self._given = given
        self.world = self._world(dtype)
        self._precise: World | None = self.world if dtype == torch.float64 else None
        # Whether programs may leave something in memory: what they store, or what an output is.
        self._leaves = any(port.written for port in spec.parameters) or any(port.memory for port in spec.outputs or ())
        self.order: ArrivalOrder | None = None  # in which chunks arrive in runs on these data; None: as stated
        self._strength: Strength | None = None
        self._examined: Examined | None = None
        self._computing: dict[Hashable, _Computing] = {}
        self._last: tuple[TypedGraph | None, _Computing] = (None, _Computing())
        self._further: list[tuple[str, World]] = []

    def _world(self, dtype: torch.dtype) -> World:
        given = self._given(dtype) if self._given is not None else None
        return World(self.spec, self.bindings, self._seed, self._reference, dtype, given)

    def run(self, graph: TypedGraph, keep: bool = False) -> Run:
        """Run a graph; with ``keep`` every stream can be inspected.

        Raises:
            SimError: memory limit (STEP406), a function failed (STEP404 and its kin), a branch does not fit (STEP409).
        """
        self._check_bounds(graph)
        return self._run(graph, self.world, keep)

    def _check_bounds(self, graph: TypedGraph, scale: int = 1) -> None:
        """Refuse a graph that takes too much memory, see :meth:`Bounds.check`; what fitted is not counted again."""
        known = self._known_of(graph)
        if known.needed is None or known.needed * scale > self.bounds.limit:
            counted = self.bounds.check(graph, scale)  # every charge is a multiple of the scale
            known.needed = (counted.total + counted.working) // scale

    def _known_of(self, graph: TypedGraph) -> _Computing:
        """Return what is known of programs that compute what ``graph`` does: a search finds many of them."""
        last, known = self._last
        if last is not graph:
            if len(self._computing) >= _MOST_KNOWN:
                self._computing.clear()
            known = self._computing.setdefault(graph.steps, _Computing())
            self._last = graph, known
        return known

    def results(
        self, graph: TypedGraph, data: Mapping[str, Sequence[Tensor]], *, precise: bool = False
    ) -> list[Tensor]:
        """Run a graph on ``data`` (see :attr:`World.drawn`) and return the results as the host puts them together.

        Raises:
            SimError: as :meth:`run`; STEP907 for a layout that does not fit.
        """
        world = self.precise() if precise else self.world
        self._check_bounds(graph, _scale(world))
        outputs, _ = self.evaluated(graph, world.varied(data))
        try:
            return [
                put_together(port.layout, column[0], self.bindings) if port.layout else column[0]
                for port, column in zip(self.spec.outputs or (), outputs, strict=True)
            ]
        except (DimError, IndexError, LayoutError, RuntimeError) as error:
            raise SimError("STEP907", f"the layouts of the outputs cannot be used: {error}") from error

    def precise(self) -> World:
        """Return the same task in fp64, on the same numbers; made at the first use."""
        if self._precise is None:
            self._precise = self._world(torch.float64)
        return self._precise

    def verify(self, checked: Checked, faults: Sequence[Diagnostic] = ()) -> Verdict:
        """Judge one candidate. Never raises for what the candidate does: failures are part of the verdict.

        ``faults`` are the errors of what it is judged with (functions, ``global``, references): nothing of that is run.
        """
        return self.examined(checked, self.decided(checked, faults))

    def decided(self, checked: Checked, faults: Sequence[Diagnostic] = ()) -> Verdict:
        """Return the verdict on the data drawn, see :meth:`verify`; what it is worth is open (:meth:`examined`)."""
        start = perf_counter()
        # Where the task or the file has faults, a stream may lack its type because of them.
        complete = checked.graph.complete if faults else checked.runnable
        known = static(checked.diagnostics, checked.affine_count, complete=complete, undecided=checked.undecided)
        try:
            return self._judged(checked, known, faults, start)
        except SimError as error:
            return known.ran(error.judged(), start, node=error.node)

    def examined(self, checked: Checked, verdict: Verdict) -> Verdict:
        """Return a verdict of :meth:`decided` with what it is worth: on stronger data, too, where those drawn say too
        little. One on values that are wrong stays as it is.
        """
        if not verdict.functional.ok or self._says_all(checked):
            return verdict
        start = perf_counter() - verdict.seconds
        known = Static(verdict.shape, verdict.affine)
        try:
            return self._right(checked.typed, known, verdict.functional, start)
        except SimError as error:
            return known.ran(error.judged(), start, node=error.node)

    def _says_all(self, checked: Checked) -> bool:
        """Whether it is known of these data that a right verdict on them says all: nothing is left to examine."""
        if not self._examine:
            return not self._further
        if self._strength is None or self._strength.untested is not None or self._further:
            return False
        return self._examined is None or self._known_of(checked.typed).said == _NOTHING_SAID

    def _judged(self, checked: Checked, known: Static, faults: Sequence[Diagnostic], start: float) -> Verdict:
        if faults:
            first = faults[0]
            return known.ran(FunctionalPart(False, first.message, code=first.code, span=first.span), start)
        if known.blocked:
            return known.unrun(since=start)
        graph = checked.typed
        comparison = self._compare(graph, self.world)
        if comparison.ok:
            return known.ran(comparison.judged(), start)
        return self._mismatch(graph, known, comparison, start)

    def _compare(self, graph: TypedGraph, world: World) -> Comparison:
        if not world.has_reference:
            raise SimError("STEP411", _NO_REFERENCE)
        references = world.references()
        return compare(self._results(graph, world), references)

    def _results(self, graph: TypedGraph, world: World) -> list[list[Tensor]]:
        self._check_bounds(graph, _scale(world))
        outputs = self._run(graph, world, keep=False).outputs
        if self.spec.outputs is None:
            return [[tensor for output in outputs for tensor in output]]
        return outputs

    @property
    def is_examined(self) -> bool:
        """Whether is looked at what verdicts on these data are worth."""
        return self._examine and self.bounds.fixed <= EXAMINED

    def strength(self) -> Strength:
        """Return what a verdict on these data says; examined once, when the first program is right.

        Nothing is said about data of more than :data:`EXAMINED` bytes: the time for it would not stay small.
        """
        if self._strength is None:
            self._strength = Strength()
            if self.world.has_reference and self.bounds.fixed <= EXAMINED:
                world = self.precise()
                self._examined = Examined.of(world)
                self._strength = self._examined.strength
                self._further = [(not_on(recipe.text), world.varied(data)) for recipe, data in self._strength.further]
                if self.spec.drawn and self._given is None:
                    self._look_at_bounds(world)
        return self._strength

    def _look_at_bounds(self, drawn: World) -> None:
        """Let programs be right with the greatest and the least dynamic and ragged sizes, too.

        Where the task itself cannot be run (its reference fails there, or has no finite result) nothing is asked.
        """
        from stepcore.sim.open_sizes import at_bounds  # most programs have static sizes

        for place, (text, spec) in enumerate(at_bounds(self.spec)):
            try:
                world = World(spec, self.bindings, self._seed, self._reference, torch.float64)
                if not all_finite(world.references()) and all_finite(drawn.references()):
                    continue
            except SimError:
                continue
            self._further.append((f"right with the sizes drawn, but not with {text}", world))
            if place == 0 and self._strength is not None and self._strength.untested is not None:
                there = examine_world(world)
                untested = there.untested and self._strength.untested.both(there.untested)
                self._strength = replace(self._strength, untested=untested)

    def learn(self, other: Session) -> None:
        """Take over what ``other`` found out about verdicts on these data, if it has the same data and reference.

        References of Python files are not compared, and data that a program has to be right on besides are made anew.
        """
        same = (self._seed, self.bindings, self.world.dtype) == (other._seed, other.bindings, other.world.dtype)
        known = other._strength
        if known is None or known.further or not same or self._reference or other._reference or self.spec.drawn:
            return
        if self.spec.says_the_same(other.spec):
            self._strength, self._examined = known, other._examined

    def _right(self, graph: TypedGraph, known: Static, functional: FunctionalPart, start: float) -> Verdict:
        """Return the verdict on values that are right on the data drawn."""
        untested = self.strength().untested if self._examine else None
        for what, world in self._further:
            try:
                found = self._compare(graph, world)
            except SimError as problem:
                if about(problem.code).outcome is Outcome.OUT_OF_MEMORY:
                    continue  # in fp64 everything is twice as large: no fault of the program
                raise
            if not found.ok:
                errors = functional.max_abs_error, found.max_abs_error
                wrong = FunctionalPart(False, f"{what}: {found.detail}", *errors, found.code)
                return known.ran(wrong, start, mismatch=found.mismatch)
        if self._examine and self._examined is not None:
            said = self._said(graph, self._examined, untested)
            if said.wrong is not None:
                found = said.wrong.found
                errors = functional.max_abs_error, found.max_abs_error
                wrong = FunctionalPart(False, f"{said.wrong.text}: {found.detail}", *errors, found.code)
                return known.ran(wrong, start, mismatch=found.mismatch)
            untested = said.untested
        return known.ran(functional, start, untested=untested)

    def _said(self, graph: TypedGraph, examined: Examined, open_: Untested | None) -> Said:
        """Return what is said of a program that is right on the data drawn, beyond what is said of its task."""
        computing = self._known_of(graph)  # equal functions stand at the same places, which notes tell
        said = computing.said
        if said is None:
            decides = may_decide(graph, self.spec.scope.prelude)
            recipes = suspected(graph, self.spec, examined.coverage.reference)
            counts = may_count(graph, self.spec)
            halves = may_overflow(graph, self.spec)
            concerns = bool(recipes) or counts or halves or examined.concerns(decides)
            ways = (decides, recipes, counts, halves)
            said = self._judge_further(graph, examined, open_, ways) if concerns else Said(None, open_)
            computing.said = said
        return said

    def _judge_further(self, graph: TypedGraph, examined: Examined, open_: Untested | None, ways: _Ways) -> Said:
        def run(world: World) -> Comparison:
            try:
                return self._compare(graph, world)
            except SimError as problem:
                if about(problem.code).outcome is Outcome.OUT_OF_MEMORY:
                    return Comparison(True, 0.0)  # in fp64 everything is twice as large: no fault of the program
                raise

        def note(world: World) -> Noting:
            noting = Noting(world.drawn, world.limits)
            with world.noted(noting):
                self.evaluated(graph, world)
            return noting

        runs = Runs(run, note, lambda world: self._results(graph, world))
        decides, recipes, counts, halves = ways
        return examined.say(self.world, runs, open_, decides=decides, recipes=recipes, counts=counts, halves=halves)

    def _mismatch(self, graph: TypedGraph, known: Static, first: Comparison, start: float) -> Verdict:
        """Let fp64 decide: long sums and ties reorder roundings."""
        second: Comparison | None = None
        note = ""
        if first.mismatch is not None and self.world.dtype != torch.float64:
            try:
                second = self._compare(graph, self.precise())
            except SimError as error:
                note = f"; the run in fp64 failed: {error.message}"
        functional = first.judged(second)
        if functional.ok:
            return known.ran(functional, start)
        origin = None
        if isinf(first.max_abs_error) and first.mismatch is not None:
            origin = nan_origin(graph, self._run(graph, self.world, keep=True).streams)
        code = functional.code if origin is None else "STEP403"
        detail = f"{functional.detail}{_errors_text(first, second)}{note}"
        mismatch = (second or first).mismatch
        wrong = replace(functional, detail=detail, code=code)
        return known.ran(wrong, start, mismatch=mismatch, nan_origin=origin)

    def _run(self, graph: TypedGraph, world: World, keep: bool) -> Run:
        world.watch()
        try:
            outputs, streams = self.evaluated(graph, world)
            return Run(outputs, streams if keep else [])
        finally:
            self._throw_away(world)

    def _throw_away(self, world: World) -> None:
        """Draw the data again when a run changed them.

        Raises:
            SimError: STEP310, they were changed.
        """
        if world.intact():
            return
        fresh = self._world(world.dtype)
        if world is self._precise:
            self._precise = fresh
        if world is self.world:
            self.world = fresh
        text = "this program changes its inputs, its weights or what global made; functions compute new tensors"
        raise SimError("STEP310", text)

    def evaluated(
        self, graph: TypedGraph, world: World, observe: Observer[StreamData] | None = None
    ) -> tuple[list[list[Tensor]], list[StreamData]]:
        """Run a graph on the data of ``world``; return the results in full shape, and what each stream holds.

        Raises:
            SimError: see :meth:`run`.
        """
        runtime = world.runtime
        runtime.begin(graph)
        runtime.order = self.order if world in (self.world, self._precise) else None  # on other data it is another
        # Recorded calls such as torch.where(x > 0, 1.0, 0.0) make numbers of torch's default type.
        with torch.inference_mode(), world.env.default_dtype():
            try:
                run = _looped() if graph.has_loops else evaluate
                streams = run(graph, runtime, world.inputs, observe)
                if self._leaves:
                    runtime.need_order()
                returned = [streams[index].dense() for index in graph.returns]
                return self._with_memory(returned, runtime) if self._leaves else returned, streams
            except (SimError, FnRuntimeError, RuleError, RuntimeError, MemoryError) as error:
                raise _located(error, runtime.node) from error
            finally:
                runtime.end()

    def against_arrival(self, graph: TypedGraph, outputs: list[list[Tensor]] | None = None) -> list[ArrivalMatters]:
        """Return where results differ from ``outputs`` (None: those of a run) with the reverse of the stated order.

        First everything that goes by arrival is reversed at once; where that changes something, each alone.

        Raises:
            SimError: the run for ``outputs`` fails, see :meth:`run`; what only the reverse order breaks is returned.
        """
        by_arrival = [node for node in graph.nodes if node.op.by_arrival()]
        if not by_arrival:
            return []
        given = self.run(graph).outputs if outputs is None else outputs
        together = self._reversed(graph, frozenset(node.index for node in by_arrival), given)
        if not together:
            return []
        alone = by_arrival if len(by_arrival) <= MOST_REVERSED else []
        texts = [(node, self._reversed(graph, frozenset({node.index}), given)) for node in alone]
        found = [(node, text) for node, text in texts if text] or [(node, together) for node in by_arrival]
        return [
            ArrivalMatters(
                node.index,
                f"results depend on the order in which chunks arrive ({node.written}): in the reverse order {text}",
            )
            for node, text in found
        ]

    def _reversed(self, graph: TypedGraph, nodes: frozenset[int], outputs: list[list[Tensor]]) -> str:
        """Say how results differ from ``outputs`` where chunks come to ``nodes`` in reverse; empty: not at all."""
        from stepcore.sim.arrival_ops import ArrivalOrder  # few programs go by arrival

        before = self.order
        self.order = ArrivalOrder({} if before is None else before.decided, nodes)
        try:
            found = compare(self._run(graph, self.world, keep=False).outputs, outputs, equal_nan=True)
        except SimError as error:
            if about(error.code).outcome is Outcome.OUT_OF_MEMORY:
                return ""
            return f"the run fails: {error.message} ({error.code})"
        finally:
            self.order = before
        return "" if found.ok else found.detail

    def _with_memory(self, returned: list[list[Tensor]], runtime: RuntimeImpl) -> list[list[Tensor]]:
        """Return the results in the order of the outputs: streams, and what stores left in memory."""
        outputs, streams = self.spec.outputs, iter(returned)
        if outputs is None:
            return [*returned, *([runtime.content(port.name)] for port in self.spec.parameters if port.written)]
        found = [[runtime.content(port.memory)] if port.memory else next(streams, None) for port in outputs]
        # A program may return another number of streams than there are outputs, which the comparison tells.
        return [column for column in found if column is not None] + [*streams]


def _looped() -> Callable[..., list[StreamData]]:
    """Return what runs a graph with loops."""
    from stepcore.sim.loops import evaluate_looped  # most have none

    return evaluate_looped


def _located(error: Exception, index: int | None) -> Exception:
    """Return the error of a run as a :class:`SimError` at a node; what is no finding on a program stays as it is."""
    if isinstance(error, SimError):
        if error.node is None:
            error.node = index
        return error
    if isinstance(error, FnRuntimeError):
        return SimError(error.code, error.message, index, span=error.span)
    if isinstance(error, RuleError):
        return SimError(error.code, error.message, index)
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return SimError("STEP406", "the machine has not enough memory for this program at these sizes", index)
    return error


def _errors_text(first: Comparison, second: Comparison | None) -> str:
    """Say how far off the values are, in both precisions."""
    if first.mismatch is None:
        return ""
    text = f"; largest error {first.max_abs_error:.3g}"
    return text if second is None else f"{text}, in fp64 {second.max_abs_error:.3g}"


def _scale(world: World) -> int:
    """How many times larger a float is than in fp32."""
    return 2 if world.dtype == torch.float64 else 1
