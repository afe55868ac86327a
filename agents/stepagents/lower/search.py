"""Candidates for one traced function: plans ranked, written down, checked and verified."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import log2, prod
from typing import TYPE_CHECKING, Final

from stepagents.lower.affine import BoundSizes
from stepagents.lower.aten.calls import source_line
from stepagents.lower.costs import MEMORY, positions
from stepagents.lower.emit import Emitted, emit
from stepagents.lower.normalise import Unlowered, item_for, normalise
from stepagents.lower.planner import MOST_POSITIONS
from stepagents.lower.plans import LoweringPlan, Planned, Problems, all_plans
from stepcore.check import depths
from stepcore.check.programs import Checked, ImplChecker
from stepcore.costs.metrics import Metrics, measure
from stepcore.findings.codes import Phase, Subject, about
from stepcore.findings.diagnostics import Severity
from stepcore.graph.task import TaskFile
from stepcore.graph.typed import TypedGraph
from stepcore.printing.task import canonical_key, task_to_yaml
from stepcore.records import Record
from stepcore.text.span import Embedded, SourceFile

if TYPE_CHECKING:
    from stepagents.lower.program import PlannedProgram
    from stepagents.traced.data import CheckData
    from stepagents.traced.graph import TracedFunction
    from stepcore.findings.errors import SimError


_DEEPEST: Final = 12_000
_MOST_WORK: Final = 1 << 27  # numbers that the functions of a program take in the runs that verify it


class LoweringOptions(Record):
    """``candidates`` are how many programs to check and verify at most, ``wanted`` how many verified ones to return.

    ``bytes`` limits the traffic of what is verified besides the first program, so that choices cost little time;
    ``positions`` bounds the elements of one stream at the smallest sizes of a check.
    """

    candidates: int = 8
    wanted: int = 3
    bytes: int = 16 << 20
    positions: int = MOST_POSITIONS


class VerifiedProgram(Record):
    """One verified program: its text and what it needs, host layouts included; its costs; how it was planned.

    ``plan`` is None for programs that somebody else wrote (``proposer``).
    """

    emitted: Emitted
    task: TaskFile
    checked: Checked
    metrics: Metrics
    plan: LoweringPlan | None
    score: float
    proposer: str = "lower"

    @property
    def layout(self) -> str:
        """The plan for people."""
        return self.plan.text if self.plan is not None else f"written by {self.proposer}"

    @property
    def operators(self) -> int:
        """How many operators the program has."""
        return len(self.checked.graph.nodes)


@dataclass(slots=True)
class Lowering:
    """What came of a function: verified programs, best first, or what stands in the way.

    ``rejected`` are programs that were planned but did not pass the checker or the simulator, with the reason: a
    fault of the lowering, or sizes that are too large to run. ``tried`` counts different programs. ``edges`` are sizes
    (one of them 1) that the function takes and the programs do not: a slice is empty there, for example. ``data`` is
    what programs are verified on, the function's own constants included.
    """

    candidates: list[VerifiedProgram] = field(default_factory=list)
    unsupported: list[Unlowered] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    tried: int = 0
    edges: list[Mapping[str, int]] = field(default_factory=list)
    data: Sequence[CheckData] = ()


def lower(
    traced: TracedFunction,
    data: Sequence[CheckData],
    options: LoweringOptions | None = None,
    tell: Callable[[int], None] = lambda _tried: None,
) -> Lowering:
    """Return programs for ``traced`` that agree with it on all of ``data``.

    ``tell`` hears how many programs were verified, before each further one; what it raises ends the lowering.
    """
    options = options or LoweringOptions()
    draws: Mapping[str, str] = {item.name: item.data_gen for item in traced.inputs}
    below = {item.name: item.below for item in traced.inputs if item.below is not None}
    sizes = BoundSizes(traced.dims)
    found = Lowering(data=data)
    values = normalise(traced, sizes)
    if values.items:
        found.unsupported = values.items
        return found
    if not data:
        text = "the function fails on random data, or its results are no numbers (NaN)"
        found.unsupported = [
            Unlowered((traced.path, traced.line), traced.name, text, "make it total, by torch.clamp for example")
        ]
        return found
    found.data = data = [replace(each, tensors={**each.tensors, **values.constants}) for each in data]
    problems = Problems()
    try:
        with _deep_recursion():
            least = BoundSizes(_smallest(traced, data).sizes)
            programs = all_plans(values.results, sizes, problems, least, options.positions)
            if programs:
                found.data = _affordable(programs[0].program, data)
    except RecursionError:
        text = "too many operations follow one another"
        found.unsupported = [Unlowered((traced.path, traced.line), traced.name, text, "lower it in several parts")]
        return found
    lines = {node.name: place[1] for node in traced.graph.graph.nodes if (place := source_line(node)) is not None}
    written: dict[tuple[str, str], None] = {}
    for planned in programs:
        if _is_known(planned.plan, found) or (found.candidates and planned.costs.here > options.bytes):
            continue
        if len(found.candidates) >= options.wanted or len(written) >= options.candidates:
            break
        emitted = emit(planned.program, planned.results, traced.name, traced.dims, draws, below, lines)
        key = (emitted.impl, str(emitted.inputs))
        if key not in written:
            tell(len(written))
            written[key] = None
            _judge(emitted, planned, found)
    found.tried = len(programs)
    if not programs:
        found.unsupported = [item_for(traced, error) for error in problems.found.values()]
    return found


def _smallest(traced: TracedFunction, data: Sequence[CheckData]) -> CheckData:
    """Return the data with the smallest inputs, not those at sizes that are all 1 where there are others."""

    def elements(each: CheckData) -> tuple[bool, int]:
        numbers = (prod(size.bind(each.sizes) for size in item.dims) for item in traced.inputs)
        return _is_all_ones(each), sum(numbers)

    return min(data, key=elements)


def _affordable(program: PlannedProgram, data: Sequence[CheckData]) -> Sequence[CheckData]:
    """Return the data on which runs are affordable together, in their order, the cheapest first chosen.

    At sizes that are all 1 little is seen, so these come last.
    """
    work = [positions(program, BoundSizes(each.sizes)) for each in data]
    order = sorted(range(len(data)), key=lambda number: (_is_all_ones(data[number]), work[number]))
    chosen: set[int] = set()
    total = 0
    for number in order:
        total += work[number]
        if not chosen or total <= _MOST_WORK:
            chosen.add(number)
    return [each for number, each in enumerate(data) if number in chosen]


def _is_all_ones(data: CheckData) -> bool:
    return bool(data.sizes) and set(data.sizes.values()) == {1}


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Expressions are walked recursively, and a chain of hundreds of operations is not rare."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _is_known(plan: LoweringPlan, found: Lowering) -> bool:
    """Whether a program of this form is there already: a choice should be between different ones."""
    plans = [candidate.plan for candidate in found.candidates if candidate.plan is not None]
    forms = [(known.style, bool(known.tiles)) for known in plans]
    return (plan.style, bool(plan.tiles)) in forms


def adopt(found: Lowering, base: Emitted, impl: str, proposer: str) -> bool:
    """Keep a program that ``proposer`` wrote for the task of ``base`` if it is right and new; return whether it is.

    One in which a stream has to wait without a buffer is none: the simulator runs it, hardware would stop.

    Its score is that of the best program with the same inputs, and what it has more: an operator counts as one, and a
    doubling of the memory as in the ranking of plans.
    """
    judged = _verified(replace(base, impl=impl), found)
    if judged is None:
        return False
    task, checked = judged
    early = waits(checked.typed)
    if early:
        found.rejected.append(f"{early} would have to wait for a later stream, and no buffer holds it")
        return False
    same = [each for each in found.candidates if each.emitted.inputs == base.inputs]
    if any(canonical_key(each.checked.graph) == canonical_key(checked.graph) for each in same):
        return False
    metrics = _measured(base, checked)
    score = float(len(checked.graph.nodes))
    if same:
        memory = log2(max(metrics.on_chip.value or 1, 1)) - log2(max(same[0].metrics.on_chip.value or 1, 1))
        score = same[0].score + len(checked.graph.nodes) - same[0].operators + MEMORY * memory
    found.candidates.append(VerifiedProgram(replace(base, impl=impl), task, checked, metrics, None, score, proposer))
    found.candidates.sort(key=lambda each: each.score)
    return True


def waits(graph: TypedGraph) -> str:
    """Return the name of a stream that would have to wait without a buffer, an empty text if none does."""
    return next((graph.streams[waiting.stream].name for waiting in depths.waits(graph)), "")


def _judge(emitted: Emitted, planned: Planned, found: Lowering) -> None:
    """Keep a planned program if it is right."""
    known = {canonical_key(each.checked.graph) for each in found.candidates}
    judged = _verified(emitted, found, known)
    if judged is not None:
        task, checked = judged
        metrics = _measured(emitted, checked)
        found.candidates.append(VerifiedProgram(emitted, task, checked, metrics, planned.plan, planned.costs.score))


def _measured(emitted: Emitted, checked: Checked) -> Metrics:
    """Return the costs of a program; its layouts tell which streams read one tensor."""
    return measure(emitted.spec, checked.typed)


def _verified(emitted: Emitted, found: Lowering, known: Container[str] = ()) -> tuple[TaskFile, Checked] | None:
    """Check a program and compare it with the function on all data; None, and the reason noted, where it is wrong.

    None, too, for one that is among ``known`` (canonical keys): in another order of loops it is no other program.
    """
    source = SourceFile(f"{emitted.spec.name}.step.yaml", task_to_yaml(emitted.spec, emitted.impl, {}))
    task = TaskFile(source, source, spec=emitted.spec)
    checked = ImplChecker(task).check(Embedded.whole(emitted.impl))
    errors = [item for item in checked.diagnostics if item.severity is Severity.ERROR]
    if errors or not checked.runnable:
        found.rejected.append(f"{errors[0].code} {errors[0].message}" if errors else "the program is incomplete")
        return None
    if canonical_key(checked.graph) in known:
        return None
    fault = _fault(checked, found)
    if fault:
        found.rejected.append(fault)
        return None
    return task, checked


def _of_layout_or_size(error: SimError) -> bool:
    """Return whether a run was refused for a layout or a size, which may leave nothing where a size is 1."""
    info = about(error.code)
    return info.phase is Phase.DECLARATIONS or info.subject is Subject.SIZES


def _fault(checked: Checked, found: Lowering) -> str:
    """Return what is wrong with the program on some of the data, an empty text where nothing is."""
    from stepagents.lower.verify import verify
    from stepcore.findings.errors import SimError

    for each in found.data:
        try:
            verdict = verify(checked, each)
        except SimError as error:
            if _of_layout_or_size(error) and 1 in each.sizes.values() and each is not found.data[0]:
                found.edges += [each.sizes] if each.sizes not in found.edges else []
                continue
            return f"{error.code} {error.message}"
        if not verdict.accepted:
            return verdict.detail
    return ""
