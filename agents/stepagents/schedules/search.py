"""Schedules of one traced function: enumerated with their costs in closed form, the best timed, written as programs.

Cheap first: the closed form ranks all, the fluid engine those that it likes best, the exact engine the last few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.convolution import (
    convolution_points,
    is_convolution,
    write_convolution,
)
from stepagents.schedules.convolution import (
    labels_of as plane_labels,
)
from stepagents.schedules.costs import CAPACITY
from stepagents.schedules.forms import Scheduled, write_chain, write_product, write_rows
from stepagents.schedules.front import smaller
from stepagents.schedules.gathered import ROWS, write_gathered
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart, shape_of
from stepagents.schedules.programs import Tiled, tiled
from stepagents.schedules.scans import is_recurrence, write_scan
from stepagents.schedules.sizes import divisors
from stepagents.schedules.tile_ops import PRODUCTS, TileBody, at_products, factors
from stepagents.schedules.totals import is_total, labels_of, operand, write_totals
from stepagents.schedules.writer import Loops, ProgramLane, Writer
from stepagents.traced.graph import line_of, opname
from stepcore.costs.metrics import measure
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.jobdata.choices import TimingEngine
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.timing.hardware import Hardware

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction

_MOST_LANES: Final = 64
_LARGEST: Final = 1 << 20  # elements of a tile
_LEAST_LANES: Final = 16  # where the sizes allow for so many: below that units wait for their own port on chip
_DEPTHS: Final = (32, 128)  # of tiles of a contracted dimension that is cut
_FLUID: Final = 8  # schedules that the fluid engine times
_EXACT: Final = 2
_STEPS: Final = 20_000_000  # of units, in one timing
_NAMES: Final = {"r": "TM", "c": "TN", "k": "TK", "f": "TF", "t": "TT"}
_FORMS: Final = {
    "rows": write_rows,
    "convolution": write_convolution,
    "product": write_product,
    "chain": write_chain,
    "totals": write_totals,
    "scan": write_scan,
    "gathered": write_gathered,
}


class Schedule(Record):
    """One point of the space: the form, the blocks' sizes by label, and lanes; ``folded`` is the label of a fold."""

    form: str
    blocks: Mapping[str, int]
    lanes: tuple[ProgramLane, ...]
    folded: str = ""

    @property
    def text(self) -> str:
        """The schedule in a line for people."""
        tiles = ", ".join(f"{_NAMES[label]}={size}" for label, size in self.blocks.items() if label in _NAMES)
        lanes = " x ".join(str(lane.count) for lane in self.lanes if lane.count > 1)
        return f"{self.form}: tiles {tiles or 'of whole rows'}; {lanes or 1} lanes"


@dataclass(slots=True)
class TiledLowering:
    """What came of a function: programs, the fewest cycles first, or ``reason`` and the line where it stands.

    ``smaller`` are those that need fewer bytes on chip than the first, by cycles. ``tried`` counts schedules.
    """

    programs: list[Tiled] = field(default_factory=list)
    smaller: list[Tiled] = field(default_factory=list)
    reason: str = ""
    line: int | None = None
    operation: str = ""
    tried: int = 0


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
    try:
        space = _Space(traced, options)
        points = list(space.points())
    except NoSchedule as error:
        return refused(found, error)
    ranked: list[tuple[int, int, Tiled]] = []
    problems: list[str] = []
    seen: set[str] = set()
    last = NoSchedule("no tile sizes fit its sizes and the memory on chip")
    for point in points:
        found.tried += 1
        try:
            program = space.written(point)
        except NoSchedule as error:
            last = last if last.node is not None else error
            continue
        if program.impl not in seen and program.estimated_bytes <= options.capacity:
            seen.add(program.impl)
            ranked.append((program.costs.cycles(options.chip), len(ranked), program))
    ranked.sort(key=lambda item: item[:2])
    if not ranked:
        return refused(found, last)
    tell(found.tried)
    fluid = _timed([each for _, _, each in ranked[:_FLUID]], options, "fluid", problems)
    exact = _timed([each for _, each in fluid[:_EXACT]], options, "exact", problems)
    found.programs = [each for _, each in (exact or fluid)][: options.wanted]
    if not found.programs:
        found.reason = problems[0]
        return found
    known = [(cycles, program) for cycles, _, program in ranked]
    found.smaller = smaller(
        found.programs[0], known, options.smaller, lambda programs: _timed(programs, options, "exact", [])
    )
    return found


def schedule_points(traced: TracedFunction, options: ScheduleOptions) -> list[Schedule]:
    """Return all points of the space of a function, those that cannot be written as well.

    Raises:
        NoSchedule: the function has no schedules.
    """
    return list(_Space(traced, options).points())


def written_point(traced: TracedFunction, options: ScheduleOptions, point: Schedule) -> Tiled:
    """Return the program of one point, which is neither timed nor verified.

    Raises:
        NoSchedule: it does not fit the function or its sizes.
    """
    return _Space(traced, options).written(point)


def refused(found: TiledLowering, error: NoSchedule) -> TiledLowering:
    """Return ``found`` with the reason why there is no schedule, and its place."""
    found.reason = str(error)
    if error.node is not None:
        place = line_of(error.node)
        found.line = None if place is None else place[1]
        found.operation = opname(error.node) or error.node.name
    return found


def _timed(
    programs: Sequence[Tiled], options: ScheduleOptions, engine: TimingEngine, problems: list[str]
) -> list[tuple[int, Tiled]]:
    """Return programs with their cycles, the fewest first; what does not fit or stops is left out."""
    found: list[tuple[int, int, Tiled]] = []
    for number, program in enumerate(programs):
        try:
            checked = program.checked
        except NoSchedule as error:
            problems.append(str(error))
            continue
        kept = measure(checked.spec, checked.typed).on_chip.value
        if kept is not None and kept > options.capacity:  # else the closed form has to do
            problems.append(f"its tiles need {kept} bytes on chip, of {options.capacity}")
            continue
        try:
            timed = time_program(checked, options.chip, engine, _STEPS)
        except NotTimed as error:
            problems.append(str(error))
            continue
        if timed.cycles is None:
            problems.append("a program that was written stops on the chip, a defect of Stepsmith")
            continue
        program.cycles = timed.cycles
        found.append((timed.cycles, number, program))
    return [(cycles, program) for cycles, _, program in sorted(found, key=lambda item: item[:2])]


class _Space:
    """The schedules of one function at one choice of sizes."""

    def __init__(self, traced: TracedFunction, options: ScheduleOptions) -> None:
        if len(traced.outputs) != 1:
            raise NoSchedule("it has several results")
        self._traced = traced
        self._options = options
        self._bound = {**traced.dims, **traced.bound}
        (output,) = traced.outputs
        nodes = {node.name: node for node in traced.graph.graph.nodes}
        self._node: Node = nodes[output.node]
        if self._node.op == "placeholder":
            raise NoSchedule("it computes nothing")
        self._dims = shape_of(self._node)
        self._looped = self._dims or self._folded_whole()
        held = next((item for item in traced.inputs if item.kind == "constant"), None)
        if held is not None:
            raise NoSchedule(f"it holds a tensor itself ({held.name}), which would have to be passed", self._node)
        if output.dtype != "fp32":
            raise NoSchedule(f"{output.node} is not of fp32", self._node)
        anchor = next((item for item in traced.inputs if item.dims and item.dtype == "fp32"), None)
        if anchor is None:
            raise NoSchedule("it has no tensor of fp32", self._node)
        self._anchor = anchor.name

    def points(self) -> Iterator[Schedule]:
        """Yield all schedules, those of a form that does not fit as well."""
        if not self._dims:
            yield from self._row_points("totals")
            return
        if len(self._dims) == 2 and any(is_recurrence(node) for node in self._behind()):
            yield from self._scan_points()
            return
        convolved = next(filter(is_convolution, self._behind()), None)
        if convolved is not None:
            for blocks, lanes in convolution_points(convolved, self._bound, _MOST_LANES):
                yield Schedule("convolution", blocks, lanes)
            return
        products = self._products() if len(self._dims) > 1 else []
        if products:
            yield from self._product_points(products[0])
        if len(products) > 1:
            yield from self._chain_points(products)
        if products and len(self._dims) == 2:
            yield from self._gathered_points()
        yield from self._row_points()

    def written(self, point: Schedule) -> Tiled:
        """Write the program of a schedule.

        Raises:
            NoSchedule: it does not fit the function or its sizes.
        """
        traced = self._traced
        taken = {
            "step",
            "torch",
            "tile",
            "place",
            "here",
            "total",
            "input",
            "state",
            "i",
            "j",
            "h",
            *_NAMES.values(),
            *self._bound,
        }
        taken |= {item.name for item in traced.inputs}
        taken |= {traced.name, f"{traced.name}_reference", f"torch_{traced.name}", "Annotated", "range", "tuple"}
        memory = fresh_name("result", taken)
        sizes = {"b": Dim.of(1), "1": Dim.of(1), **{label: Dim.of(size) for label, size in point.blocks.items()}}
        lanes = {lane.label: lane for lane in point.lanes}
        texts = {label: str(size) for label, size in point.blocks.items()}
        across = lanes["c"].count if "c" in lanes else 1
        if "c" not in sizes and across > 1:  # each lane has its share of the columns in one tile
            sizes["c"] = self._dims[-1] // across
            texts["c"] = f"{self._dims[-1]} // {across}"
        blocks = Blocks(sizes, self._bound)
        if point.form == "gathered":
            blocks = Blocks({**sizes, "r": Dim.symbol(ROWS)}, {**self._bound, ROWS: point.blocks["r"]})
        names = {label: _NAMES[label] for label in texts}
        writer = Writer(blocks, lanes, taken, names, self._options.chip.memory.burst, self._anchor)
        labels = plane_labels(len(self._dims)) if point.form == "convolution" else self._labels(sizes)
        folded = None
        if point.folded:
            folded = self._folded(point.folded, labels)
        writer.may_end = point.form == "rows"
        plan = Scheduled(TilePart(self._node, labels), self._outer(point, labels), memory, folded)
        if names:
            writer.lines.append(f"{', '.join(names.values())} = {', '.join(texts.values())}")
        _FORMS[point.form](writer, plan)
        return tiled(traced, writer, memory, shape_of(self._node), point.text, self._bound, self._options.chip)

    # -- the space -----------------------------------------------------------------------------------

    def _labels(self, sizes: Mapping[str, Dim]) -> tuple[str, ...]:
        rank = len(self._dims)
        if "t" in sizes:
            return ("t", "c")
        if rank < 2:
            return ("r",) * rank
        return ("b",) * (rank - 2) + tuple(label if label in sizes else WHOLE for label in ("r", "c"))

    def _outer(self, point: Schedule, labels: tuple[str, ...]) -> Loops:
        dims = self._looped
        loops: list[tuple[str, Dim]] = []
        if point.form == "convolution":
            return [("c", dims[1]), ("b", dims[0])]
        if point.form == "totals":
            labels = labels_of(len(dims))
        if labels[-1] == "c" and point.form != "chain":
            loops.append(("c", dims[-1]))
        if "t" in labels:
            loops.insert(0, ("t", dims[-2]))
        if "r" in labels:
            loops.append(("r", dims[labels.index("r")]))
        if "b" in labels:
            loops.append(("b", prod(dims[:-2], start=Dim.of(1))))
        return loops

    def _products(self) -> list[Node]:
        """Return the last products on the way to the result, then those behind them."""
        return [node for node in self._behind() if opname(node) in PRODUCTS]

    def _behind(self) -> Iterator[Node]:
        """Yield the result's node and those that it depends on, nearest first."""
        stack = [self._node]
        seen = {self._node}
        while stack:
            node = stack.pop(0)
            yield node
            for other in node.all_input_nodes:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)

    def _folded(self, label: str, labels: tuple[str, ...]) -> Dim:
        body = TileBody(Blocks({}, self._bound), at_products)
        body.of(TilePart(self._node, labels))
        product = next((part for part in body.inputs if part.bare), None)
        if product is None:
            raise NoSchedule("it has no product of matrices", self._node)
        return shape_of(factors(product)[0].node)[-1]

    def _size(self, dim: Dim) -> int:
        return dim.bind(self._bound)

    def _lane_choices(self, *, most: int = _MOST_LANES) -> Iterator[ProgramLane]:
        """Yield lanes of rows, or of outer dimensions where there are any."""
        places = [("r", self._rows)]
        if len(self._looped) > 2:
            places.insert(0, ("b", prod(self._looped[:-2], start=Dim.of(1))))
        for label, dim in places:
            for count in divisors(self._size(dim), 1, most):
                yield ProgramLane(label, count)

    @property
    def _rows(self) -> Dim:
        """The size of the dimension that rows of blocks run over."""
        return self._looped[-2] if len(self._looped) > 1 else self._looped[0]

    def _folded_whole(self) -> tuple[Dim, ...]:
        """Return the sizes of the tensor of which the result is a total."""
        found = next((node for node in self._behind() if is_total(node)), None)
        if found is None:
            raise NoSchedule("its result is one number, and no total of a tensor", self._node)
        return shape_of(operand(found))

    def _row_points(self, form: str = "rows") -> Iterator[Schedule]:
        rows = self._size(self._rows)
        for lane in self._lane_choices():
            own = rows // lane.count if lane.label == "r" else rows
            for tile in divisors(own, 1, 4096):
                yield Schedule(form, {"r": tile}, (lane,))
        if form == "rows" and max(divisors(rows, 1, _MOST_LANES)) < _LEAST_LANES:  # lanes that do not divide the rows
            for tile in divisors(rows, 1, 4096):
                for count in (_LEAST_LANES, 2 * _LEAST_LANES, 4 * _LEAST_LANES):
                    yield Schedule(form, {"r": tile}, (ProgramLane("r", count),))
        if form == "rows" and len(self._dims) > 1 and self._dims[-2] != 1:
            columns = self._size(self._dims[-1])
            for across in divisors(columns, 1, _MOST_LANES):
                for wide in divisors(columns // across, 16, 1024):
                    yield Schedule(form, {"c": wide}, (ProgramLane("c", across),))

    def _gathered_points(self) -> Iterator[Schedule]:
        """Yield lanes whose last one may have fewer rows, where tiles and lanes hardly divide these."""
        rows = self._size(self._rows)
        if rows % _LEAST_LANES == 0:
            return
        for wanted in (4, 8, 16, 32, 64):
            tall = -(-rows // wanted)
            lanes = (ProgramLane("r", -(-rows // tall)),)
            yield Schedule("gathered", {"r": tall}, lanes)
            for deep in _DEPTHS:
                yield Schedule("gathered", {"r": tall, "k": deep}, lanes)

    def _scan_points(self) -> Iterator[Schedule]:
        rows, columns = (self._size(dim) for dim in self._dims)
        for across in divisors(columns, 1, _MOST_LANES):
            for wide in divisors(columns // across, 16, 128):
                for tall in divisors(rows, 16, 1024):
                    yield Schedule("scan", {"t": tall, "c": wide}, (ProgramLane("c", across),))

    def _product_points(self, product: Node) -> Iterator[Schedule]:
        rows, columns = (self._size(dim) for dim in self._dims[-2:])
        depth = self._size(shape_of(product.args[-2])[-1])  # type: ignore[arg-type]
        for lane in self._lane_choices():
            own = rows // lane.count if lane.label == "r" else rows
            for across in _enough(divisors(columns, 1, _MOST_LANES // lane.count), lane.count):
                lanes = (lane, ProgramLane("c", across))
                for tile in divisors(own, 1 if own < 16 else 16, 512):
                    for wide in divisors(columns // across, 16, 512):
                        yield from self._product_tiles(lanes, {"r": tile, "c": wide}, depth)

    def _product_tiles(self, lanes: tuple[ProgramLane, ...], tiles: dict[str, int], depth: int) -> Iterator[Schedule]:
        if tiles["r"] * tiles["c"] > _LARGEST // 4:
            return
        if max(tiles["r"], tiles["c"]) * depth <= _LARGEST:
            yield Schedule("product", tiles, lanes)
        for deep in _DEPTHS:
            if deep < depth and depth % deep == 0:
                yield Schedule("product", {**tiles, "k": deep}, lanes, "k")

    def _chain_points(self, products: Sequence[Node]) -> Iterator[Schedule]:
        rows, columns = (self._size(dim) for dim in self._dims[-2:])
        between = self._size(shape_of(products[0].args[-2])[-1])  # type: ignore[arg-type]
        for lane in self._lane_choices():
            own = rows // lane.count if lane.label == "r" else rows
            most = min(16, _MOST_LANES // lane.count)
            for across in divisors(columns, 1, most):
                for dealt in _enough(divisors(between, 1, most), lane.count * across):
                    lanes = (lane, ProgramLane("c", across), ProgramLane("f", dealt, dealt=True))
                    for tile in divisors(own, 1 if own < 16 else 16, 128):
                        for wide in divisors(between // dealt, 16, 256):
                            yield Schedule("chain", {"r": tile, "f": wide}, lanes, "f")


def _enough(counts: list[int], others: int) -> list[int]:
    """Return those counts of lanes with which there are enough together with ``others``, at least the greatest."""
    return [each for each in counts if each * others >= _LEAST_LANES] or counts[-1:]
