"""Schedules of one traced function: enumerated with their costs in closed form, the best timed, written as programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.timing.hardware import Hardware

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction

_FLUID: Final = 8  # schedules that the fluid engine times
_EXACT: Final = 2
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

    ``smaller`` are those that need fewer bytes on chip than the first, by cycles. ``tried`` counts schedules.
    ``has_always``: beside experts that rows choose, all rows go to some, so a program for all rows may be faster.
    """

    programs: list[Tiled] = field(default_factory=list)
    smaller: list[Tiled] = field(default_factory=list)
    reason: str = ""
    line: int | None = None
    operation: str = ""
    tried: int = 0
    has_always: bool = False


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
    try:
        ranked = _ranked(ranking, sized)
    except NoSchedule as error:
        return refused(found, error)
    found.tried = ranking.tried
    tell(found.tried)
    fluid = ranking.timed(ranked, "fluid", _FLUID)
    exact = ranking.timed(fluid[:_EXACT], "exact")
    best = (exact or fluid)[: options.wanted]
    if not best:
        found.reason = str(ranking.reason())
        return found
    found.programs = [each.program for each in best]
    found.smaller = smaller(best[0], ranked, options.smaller, partial(ranking.timed, engine="exact"))
    return found


def _ranked(ranking: Ranking[Schedule], sized: Callable[[bool], SizedFunction]) -> list[TimedPoint[Schedule]]:
    """Return the ranked points of the first forms that have any.

    Raises:
        NoSchedule: none has, which the forms over tiles explain.
    """
    try:
        ranked = ranking.ranked(_points(sized(False)))
        if not ranked and (points := _merged_points(sized)):
            ranking.refused = NoSchedule(_NO_TILES)  # what keeps rows of all dimensions together says more
            ranked = ranking.ranked(points)
        reason = ranking.reason()
    except NoSchedule as error:
        ranked, reason = [], error
    if not ranked:
        try:
            ranked = ranking.ranked(_points(sized(False), last=True))
        except NoSchedule:
            ranked = []  # what the others lack is nearer to what the user knows
    if not ranked:
        raise reason
    return ranked


def schedule_points(traced: TracedFunction) -> list[Schedule]:
    """Return the points of all forms over tiles, those that cannot be written as well, those of merged rows last.

    Raises:
        NoSchedule: the function has no schedules.
    """
    sized = _sized(traced)
    return [*_points(sized(False)), *_merged_points(sized)]


def last_points(traced: TracedFunction) -> list[Schedule]:
    """Return the points of those forms that are tried where no other has a program.

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

    With ``last`` those of the forms that are tried where no other has a program.
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
