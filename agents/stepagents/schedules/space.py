"""The space of schedules of one function: the function at its sizes, a point, and what a form of loop nest has to say.

A form is one module with one :class:`ScheduleForm`: which functions it takes, its points, the labels of the blocks of a
result, the loops over them, and how they are written. :mod:`stepagents.schedules.search` names it in one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, ClassVar, Final

from stepagents.schedules.forms import Scheduled
from stepagents.schedules.parts import LABELS, WHOLE, Blocks, Labels, NoSchedule, TilePart, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.tile_ops import PRODUCTS
from stepagents.schedules.writer import Loops, ProgramLane, Writer
from stepagents.traced.graph import opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction

MOST_LANES: Final = 64
TALLEST: Final = 4096  # rows of a tile
LEAST_LANES: Final = 16  # where the sizes allow for so many: below that units wait for their own port on chip
DEPTHS: Final = (32, 128)  # of tiles of a contracted dimension that is cut
_RESULTS: Final = ("fp32", "int64")
TILE_NAMES: Final = {label: names.size for label, names in LABELS.items() if names.size}


class Schedule(Record):
    """One point of the space: the name of its form, the blocks' sizes by label, and lanes.

    With ``is_merged`` the result's rows run over all dimensions but the last.
    """

    form: str
    blocks: Mapping[str, int]
    lanes: tuple[ProgramLane, ...]
    is_merged: bool = False

    @property
    def text(self) -> str:
        """The schedule in a line for people."""
        tiles = ", ".join(f"{TILE_NAMES[label]}={size}" for label, size in self.blocks.items() if label in TILE_NAMES)
        lanes = " x ".join(str(lane.count) for lane in self.lanes if lane.count > 1)
        return f"{self.form}: tiles {tiles or 'of whole rows'}; {lanes or 1} lanes"


class SizedFunction:
    """A function of one result at one choice of sizes: ``node`` is its result, ``dims`` the sizes of that.

    With ``is_merged`` it is taken as a matrix whose rows run over all dimensions but the last, as those of a linear
    layer do; ``dims`` are the sizes of that matrix. ``anchor`` names a tensor in memory.

    Raises:
        NoSchedule: no form takes such a function.
    """

    def __init__(self, traced: TracedFunction, *, is_merged: bool = False) -> None:
        if len(traced.outputs) != 1:
            raise NoSchedule("a function of several results cannot be tiled")
        self.traced = traced
        self.bound = {**traced.dims, **traced.bound}
        (output,) = traced.outputs
        self.node: Node = next(node for node in traced.graph.graph.nodes if node.name == output.node)
        if self.node.op == "placeholder":
            raise NoSchedule("the function computes nothing: its result is an input")
        dims = shape_of(self.node)
        self.is_merged = is_merged
        self.dims = (product(dims[:-1]), dims[-1]) if is_merged else dims
        held = next((item for item in traced.inputs if item.kind == "constant"), None)
        if held is not None:
            raise NoSchedule(
                f"a tensor that the function holds itself ({held.name}) cannot be read by tiles: pass it", self.node
            )
        if output.dtype not in _RESULTS:
            raise NoSchedule(
                f"the result {output.node} is of {output.dtype}, and tiles have {' or '.join(_RESULTS)}", self.node
            )
        anchor = next((item for item in traced.inputs if item.dims and item.dtype == "fp32"), None)
        if anchor is None:
            raise NoSchedule("the function has no tensor of fp32 that could be read in tiles", self.node)
        self.anchor = anchor.name

    def part(self, labels: Labels) -> TilePart:
        """Return the result's blocks with such labels, one for each of ``dims``."""
        rows = len(shape_of(self.node)) - 1
        return TilePart(self.node, (labels[0],) * rows + labels[1:] if self.is_merged else labels)

    @property
    def tallest(self) -> Dim:
        """The most rows of a tile of the result: merged rows have as many matrices as memory has."""
        return rows_of(shape_of(self.node))

    @cached_property
    def behind(self) -> tuple[Node, ...]:
        """The result's node and those that it depends on, nearest first."""
        found = {self.node: None}
        waiting = [self.node]
        while waiting:
            for other in waiting.pop(0).all_input_nodes:
                if other not in found:
                    found[other] = None
                    waiting.append(other)
        return tuple(found)

    @cached_property
    def products(self) -> tuple[Node, ...]:
        """The last products of matrices on the way to the result, then those behind them; none without rows."""
        return tuple(node for node in self.behind if opname(node) in PRODUCTS) if len(self.dims) > 1 else ()

    def size(self, dim: Dim) -> int:
        """Return a size as a number."""
        return dim.bind(self.bound)

    def sizes(self, dims: tuple[Dim, ...]) -> tuple[int, ...]:
        """Return sizes as numbers."""
        return tuple(map(self.size, dims))

    def lanes_of_rows(self, dims: tuple[Dim, ...], most: int = MOST_LANES) -> Iterator[tuple[ProgramLane, int]]:
        """Yield lanes of rows of ``dims``, or of outer dimensions where there are any, and the rows of each lane.

        Of rows that are merged, which tiles do not reach across, so many follow each other in a lane at least.
        """
        rows = self.size(rows_of(dims))
        if len(dims) > 2:
            for count in divisors(self.size(prod(dims[:-2], start=Dim.of(1))), 1, most):
                yield ProgramLane("b", count), rows
        for count in divisors(rows, 1, most):
            own = rows // count
            yield ProgramLane("r", count), gcd(own, self.size(self.tallest)) if self.is_merged else own


def rows_of(dims: tuple[Dim, ...]) -> Dim:
    """Return the size of the dimension that rows of blocks run over."""
    return dims[-2] if len(dims) > 1 else dims[0]


class ScheduleForm(ABC):
    """One kind of loop nest. With ``alone`` no other form is tried for a function that it takes.

    One that is ``last`` is tried where no other has a program.
    """

    name: ClassVar[str]
    alone: ClassVar[bool] = False
    last: ClassVar[bool] = False

    @abstractmethod
    def takes(self, function: SizedFunction) -> bool:
        """Whether its points are tried for a function."""

    @abstractmethod
    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield its schedules of a function, those that do not fit as well.

        Raises:
            NoSchedule: there are none.
        """

    @abstractmethod
    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write the program of a point.

        Raises:
            NoSchedule: the operations do not allow for the blocks, or do not fit them.
        """

    def labels(self, function: SizedFunction, sizes: Mapping[str, Dim]) -> Labels:
        """Return the labels of the result's blocks: rows and columns that are cut, outer dimensions one by one."""
        rank = len(function.dims)
        if rank < 2:
            return ("r",) * rank
        return ("b",) * (rank - 2) + tuple(label if label in sizes else WHOLE for label in ("r", "c"))

    def loops(self, function: SizedFunction, labels: Labels) -> Loops:
        """Return the loops over blocks with ``labels``, the fastest first."""
        return loops_over(function.dims, labels)

    def blocks(self, sizes: Mapping[str, Dim], function: SizedFunction, _point: Schedule) -> Blocks:
        """Return the blocks of the given sizes."""
        return Blocks(sizes, function.bound)

    def folded(self, _function: SizedFunction, _point: Schedule, _labels: Labels) -> Dim | None:
        """Return the size of the contracted dimension that is cut, None for none.

        Raises:
            NoSchedule: the function contracts none.
        """
        return None


def loops_over(dims: tuple[Dim, ...], labels: Labels) -> list[tuple[str, Dim]]:
    """Return the loops over blocks of a tensor of ``dims``, columns first, then rows and outer dimensions."""
    loops: list[tuple[str, Dim]] = []
    if labels[-1] == "c":
        loops.append(("c", dims[-1]))
    if "r" in labels:
        loops.append(("r", dims[labels.index("r")]))
    if "b" in labels:
        loops.append(("b", prod(dims[:-2], start=Dim.of(1))))
    return loops


def enough(counts: list[int], others: int) -> list[int]:
    """Return those counts of lanes with which there are enough together with ``others``, at least the greatest."""
    return [each for each in counts if each * others >= LEAST_LANES] or counts[-1:]
