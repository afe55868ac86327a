"""Schedules of one traced function: enumerated with their costs in closed form, the best timed, written as programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.arrays.form import ArraysForm, TablesForm
from stepagents.schedules.chains import ChainForm
from stepagents.schedules.convolution import WindowsForm
from stepagents.schedules.costs import CAPACITY
from stepagents.schedules.forms import Scheduled, bracketed
from stepagents.schedules.front import smaller
from stepagents.schedules.gathered import CutForm, GatheredForm
from stepagents.schedules.least import least_cycles
from stepagents.schedules.naming import file_names
from stepagents.schedules.parts import NoSchedule, runs_of, shape_of
from stepagents.schedules.products import ProductForm
from stepagents.schedules.programs import Tiled, tiled
from stepagents.schedules.ranking import Ranking, TimedPoint
from stepagents.schedules.rows import RowsForm
from stepagents.schedules.scans import ScanForm
from stepagents.schedules.space import TILE_NAMES, Schedule, ScheduleForm, SizedFunction
from stepagents.schedules.totals import TotalsForm
from stepagents.schedules.writer import Writer
from stepagents.traced.graph import line_of, opname
from stepcore.cycles.bounds import COMPUTE
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.timing.hardware import Hardware

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction

_FLUID: Final = 8  # schedules that the fluid engine times
_EXACT: Final = 2
_CLOSE: Final = 1.1  # times the least cycles: what takes no more is not beaten by much
_ALIKE: Final = 1.01
_NO_TILES: Final = "no tiles fit the function's sizes"
_TRIED: Final[tuple[ScheduleForm, ...]] = (  # in this order
    TotalsForm(), ScanForm(), WindowsForm(), ProductForm(), ChainForm(), GatheredForm(), CutForm(), RowsForm(),
    ArraysForm(), TablesForm(),
)  # fmt: skip
FORMS: Final = {form.name: form for form in _TRIED}
_LOCALS: Final = frozenset(
    ("tile", "place", "here", "total", "input", "state", "i", "j", "h", "g", "Annotated", "range", "tuple")
)


@dataclass(slots=True)
class TiledLowering:
    """What came of a function: programs, the fewest cycles first, or ``reason`` and the line where it stands.

    ``smaller`` are those that need fewer bytes on chip than the first, by cycles; ``others`` are the best of other ways
    to compute it, and ``choice`` says what each takes, or why it has no program. ``tried`` counts schedules.
    """

    programs: list[Tiled] = field(default_factory=list)
    smaller: list[Tiled] = field(default_factory=list)
    reason: str = ""
    line: int | None = None
    operation: str = ""
    tried: int = 0
    others: list[Tiled] = field(default_factory=list)
    choice: str = ""


class ScheduleOptions(Record):
    """The chip, the bytes that may be kept on it, how many programs are wanted, and how many smaller ones beside."""

    chip: Hardware
    capacity: int = CAPACITY
    wanted: int = 1
    smaller: int = 0


def schedules(
    traced: TracedFunction, options: ScheduleOptions, tell: Callable[[int], None] = lambda _tried: None
) -> TiledLowering:
    """Return timed programs for ``traced`` at the sizes that it was asked for; nothing is verified yet."""
    found = TiledLowering()
    sized = _sized(traced)
    ranking: Ranking[Schedule] = Ranking(
        options.chip, options.capacity, lambda point: _written(sized(point.is_merged), point, options.chip),
        lambda _point, program: program.costs.cycles(options.chip),
    )  # fmt: skip
    nests, reason = _nests(ranking, sized)
    kinds = [_Kind("loop nests of tiles", nests, _timed(ranking, nests))]
    if _may_be_beaten(kinds[0], traced, options.chip):
        blocks = _blocks(ranking, sized)
        kinds.append(_Kind("one function over blocks", blocks, _timed(ranking, blocks)))
    found.tried = ranking.tried
    tell(found.tried)
    kinds = [kind for kind in kinds if kind.best]
    if not kinds:
        return refused(found, ranking.reason() if nests else reason)
    first = _chosen(kinds)
    second = [kind for kind in kinds if kind is not first]
    found.programs = [each.program for each in first.best[: options.wanted]]
    found.smaller = smaller(first.best[0], first.ranked, options.smaller, partial(ranking.timed, engine="exact"))
    if second and first is not kinds[0]:
        found.others = [kind.best[0].program for kind in second]
        took = ", ".join(f"{kind.name} {kind.best[0].cycles:,}" for kind in second)
        found.choice = f"{first.name}: that takes {first.best[0].cycles:,} cycles, {took}"
    return found


class _Kind(Record):
    """Programs of one kind of forms: all, ranked by the closed form, and the best, timed, the fastest first."""

    name: str
    ranked: list[TimedPoint[Schedule]]
    best: list[TimedPoint[Schedule]]


def _timed(ranking: Ranking[Schedule], ranked: list[TimedPoint[Schedule]]) -> list[TimedPoint[Schedule]]:
    fluid = ranking.timed(ranked, "fluid", _FLUID)
    return ranking.timed(fluid[:_EXACT], "exact") or fluid


def _may_be_beaten(nests: _Kind, traced: TracedFunction, chip: Hardware) -> bool:
    """Whether programs of another kind may be faster by more than a little than the loop nests that there are."""
    if not nests.best:
        return True
    best = nests.best[0]
    return best.cycles > _CLOSE * max(least_cycles(traced, chip), best.program.costs.flops // COMPUTE)


def _chosen(kinds: Sequence[_Kind]) -> _Kind:
    """Return the kind of the fewest cycles; the first where it takes about as few, as loops are read more easily."""
    fewest = min(kinds, key=lambda kind: kind.best[0].cycles)
    return kinds[0] if kinds[0].best[0].cycles <= _ALIKE * fewest.best[0].cycles else fewest


def _nests(
    ranking: Ranking[Schedule], sized: Callable[[bool], SizedFunction]
) -> tuple[list[TimedPoint[Schedule]], NoSchedule]:
    """Return the ranked loop nests of the first forms that have any, and the reason where there are none."""
    try:
        ranked = ranking.ranked(_points(sized(False)))
        if not ranked and (points := _merged_points(sized)):
            ranking.refused = NoSchedule(_NO_TILES)  # what keeps rows of all dimensions together says more
            ranked = ranking.ranked(points)
    except NoSchedule as error:
        return [], error
    return ranked, ranking.reason()


def _blocks(ranking: Ranking[Schedule], sized: Callable[[bool], SizedFunction]) -> list[TimedPoint[Schedule]]:
    """Return the ranked functions over blocks, none where it is no such function: what nests lack says more of it."""
    try:
        return ranking.ranked(_points(sized(False), last=True))
    except NoSchedule:
        return []


def schedule_points(traced: TracedFunction) -> list[Schedule]:
    """Return the points of all forms over tiles, those that cannot be written as well, those of merged rows last.

    Raises:
        NoSchedule: the function has no schedules.
    """
    sized = _sized(traced)
    return [*_points(sized(False)), *_merged_points(sized)]


def last_points(traced: TracedFunction) -> list[Schedule]:
    """Return the points of those forms that are one function over blocks.

    Raises:
        NoSchedule: the function has none.
    """
    return [*_points(_sized(traced)(False), last=True)]


def written_point(traced: TracedFunction, options: ScheduleOptions, point: Schedule) -> Tiled:
    """Return the program of one point, which is neither timed nor verified.

    Raises:
        NoSchedule: it does not fit the function or its sizes.
    """
    return _written(SizedFunction(traced, is_merged=point.is_merged), point, options.chip)


def refused(found: TiledLowering, error: NoSchedule, what: str = "") -> TiledLowering:
    """Return ``found`` with the reason why there is no schedule, and its place; ``what`` says what cannot be done."""
    found.reason = f"{what}: {error}" if what else str(error)
    if error.node is not None:
        place = line_of(error.node)
        found.line = None if place is None else place[1]
        found.operation = opname(error.node) or error.node.name
    return found


def _points(function: SizedFunction, *, last: bool = False) -> Iterator[Schedule]:
    """Yield the schedules of all forms that take a function, those that do not fit as well.

    With ``last`` those of the forms that are one function over blocks.
    """
    for form in FORMS.values():
        if form.last == last and form.takes(function):
            yield from form.points(function)
            if form.alone:
                return


def _sized(traced: TracedFunction) -> Callable[[bool], SizedFunction]:
    """Return what gives the sizes of a function, with its rows merged or not; each is looked at once."""
    return cache(lambda is_merged: SizedFunction(traced, is_merged=is_merged))


def _merged_points(sized: Callable[[bool], SizedFunction]) -> list[Schedule]:
    """Return the schedules of a function as a matrix whose rows run over all dimensions but the last, if it has more.

    Raises:
        NoSchedule: it has no single result that tiles compute.
    """
    if len(sized(False).dims) < 3:
        return []
    return [replace(point, is_merged=True) for point in _points(sized(True))]


def _written(function: SizedFunction, point: Schedule, chip: Hardware) -> Tiled:
    """Write the program of a schedule.

    Raises:
        NoSchedule: it does not fit the function or its sizes.
    """
    form, traced = FORMS[point.form], function.traced
    given = file_names(traced, function.bound)
    point = replace(point, lanes=tuple(lane.beside(given) for lane in point.lanes))
    taken = {*_LOCALS, *TILE_NAMES.values(), *given, *(lane.index for lane in point.lanes)}
    memory = fresh_name("result", taken)
    sizes = {"b": Dim.of(1), "1": Dim.of(1), **{label: Dim.of(size) for label, size in point.blocks.items()}}
    lanes = {lane.label: lane for lane in point.lanes}
    texts = {label: str(size) for label, size in point.blocks.items()}
    across = lanes["c"].count if "c" in lanes else 1
    if "c" not in sizes and across > 1:  # each lane has its share of the columns in one tile
        sizes["c"] = function.dims[-1] // across
        texts["c"] = f"{bracketed(str(function.dims[-1]))} // {across}"
    names = {label: TILE_NAMES[label] for label in texts}
    blocks = form.blocks(sizes, function, point)
    writer = Writer(blocks, lanes, taken, names, chip.memory.burst, function.anchor)
    labels = form.labels(function, sizes)
    folded = form.folded(function, point, labels)
    part = function.part(labels)
    writer.runs = runs_of(part)
    plan = Scheduled(part, form.loops(function, labels), memory, folded)
    if names:
        writer.lines.append(f"{', '.join(names.values())} = {', '.join(texts.values())}")
    form.write(writer, plan)
    return tiled(traced, writer, memory, shape_of(function.node), point.text, function.bound, chip)
