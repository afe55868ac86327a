"""Programs of one element function over blocks of any number of dimensions: what no form over tiles can be.

Loops run over dimensions of the result that operations keep apart, one place or one block at a time, in lanes; all that
the function does with the others is one call on a block, which is a stack of tiles in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as every
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final

from stepagents.schedules.arrays.body import ArrayBody, is_lookup
from stepagents.schedules.arrays.loops import BlockLoop, shared_loops
from stepagents.schedules.arrays.memory import ArrayWriter
from stepagents.schedules.arrays.ops import HANDLERS
from stepagents.schedules.arrays.parts import LOOP, ArrayPart, LoopSplit, pieces, whole
from stepagents.schedules.forms import Scheduled
from stepagents.schedules.indices import Atom, Index
from stepagents.schedules.parts import LABELS, WHOLE, Labels, NoSchedule, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import LEAST_LANES, MOST_LANES, TALLEST, Schedule, ScheduleForm, SizedFunction
from stepagents.schedules.writer import Lanes, Loops, ProgramLane, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.fx import Node

    from stepcore.sizes.dim import Dim

_LARGEST: Final = 1 << 20  # elements of a block of the result
_FEW: Final = (1, 4)  # lanes, where more do not fit
_DEEPEST: Final = 8  # times that a loop is split


class ArraysForm(ScheduleForm):
    """Maps over blocks of the result, of any dimensions."""

    name = "arrays"
    last = True
    keeps_tables: ClassVar[bool] = False  # that rows are looked up in, on chip

    def takes(self, function: SizedFunction) -> bool:
        """Whether its result has dimensions."""
        return bool(function.dims)

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield loops over some of the dimensions, one of them in blocks, in lanes.

        Raises:
            NoSchedule: the whole function has no text over blocks.
        """
        self._computed(function.node, {}, function.bound)
        cut = [label for label in _labels(len(function.dims)) if self._is_apart(function, label)]
        for count in range(len(cut) + 1):
            for chosen in _choices(cut, count):
                for blocks in self._blocks(function, chosen):
                    yield from self._in_lanes(function, chosen, blocks)

    def _blocks(self, function: SizedFunction, chosen: Labels) -> Iterator[dict[str, int]]:
        """Yield what of the chosen dimensions is in blocks of more than one place: nothing, or one of them."""
        yield {}
        for label in chosen:
            for size in divisors(function.size(function.dims[_place(label)]), 2, TALLEST):
                if size < function.size(function.dims[_place(label)]):
                    yield {label: size}

    def _in_lanes(self, function: SizedFunction, chosen: Labels, blocks: dict[str, int]) -> Iterator[Schedule]:
        sizes = function.sizes(function.dims)
        rounds = [sizes[_place(label)] // blocks.get(label, 1) for label in chosen]
        if prod(sizes) // max(prod(rounds), 1) > _LARGEST:
            return
        counts = list(_lane_counts(rounds, MOST_LANES))
        most = max(map(prod, counts))
        for each in counts:
            if prod(each) >= min(LEAST_LANES, most) or prod(each) in _FEW:
                lanes = tuple(ProgramLane(label, count) for label, count in zip(chosen, each, strict=True))
                yield Schedule(self.name, blocks, lanes)

    def _computed(
        self, node: Node, cuts: Mapping[str, Index], bound: Mapping[str, int]
    ) -> tuple[ArrayPart, ArrayBody, str]:
        """Return the part of the result with such indices, the body that computes it, and its text.

        Raises:
            NoSchedule: the operations do not keep blocks apart.
            LoopSplit: a view needs a loop as two.
        """
        dims = shape_of(node)
        part = ArrayPart(node, tuple(cuts.get(f"{LOOP}{place}", whole(size)) for place, size in enumerate(dims)))
        body = ArrayBody(bound, HANDLERS, keeps_tables=self.keeps_tables)
        return part, body, body.of(part)

    def _is_apart(self, function: SizedFunction, label: str) -> bool:
        """Whether the operations keep places of a dimension apart."""
        size = function.dims[_place(label)]
        if function.size(size) == 1:
            return False
        try:
            self._computed(function.node, {label: _cut(function.node, label, None)}, function.bound)
        except NoSchedule:
            return False
        except LoopSplit:
            return True
        return True

    def labels(self, function: SizedFunction, _sizes: Mapping[str, Dim]) -> Labels:
        """Return no labels: blocks have indices."""
        return (WHOLE,) * len(function.dims)

    def loops(self, _function: SizedFunction, _labels: Labels) -> Loops:
        """Return no loops: they follow from indices."""
        return ()

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write loads, one Map, and stores.

        Raises:
            NoSchedule: the operations do not allow for the blocks, or do not fit them.
        """
        node = plan.result.node
        blocks = {label: writer.blocks.sizes[label] for label in writer.names if label.startswith(LOOP)}
        lanes = tuple(lane for label, lane in writer.lanes.items() if label.startswith(LOOP))
        cuts = {lane.label: _cut(node, lane.label, blocks.get(lane.label)) for lane in lanes}
        for _ in range(_DEEPEST):
            try:
                part, body, value = self._computed(node, cuts, writer.blocks.bound)
            except LoopSplit as split:
                cuts = {label: _split(index, split) for label, index in cuts.items()}
            else:
                break
        else:
            raise NoSchedule("views split a dimension that is cut more often than there are forms for", node)
        loops = _loops(writer, cuts, lanes, node)
        ArrayWriter(writer, part, loops, plan.memory).write(body, value)


class TablesForm(ArraysForm):
    """The same, with the tables on chip that rows are looked up in: each lane has those columns that it needs."""

    name = "tables"
    keeps_tables = True

    def takes(self, function: SizedFunction) -> bool:
        """Whether rows are looked up."""
        return super().takes(function) and any(map(is_lookup, function.behind))

    def _blocks(self, function: SizedFunction, chosen: Labels) -> Iterator[dict[str, int]]:
        """Yield several dimensions in blocks, too: lanes share the places, and each has few columns of a table."""
        yield from super()._blocks(function, chosen)
        sizes = [function.size(function.dims[_place(label)]) for label in chosen]
        for counts in every(*(divisors(size, 2, min(MOST_LANES, size - 1)) for size in sizes)):
            if len(chosen) > 1 and LEAST_LANES <= prod(counts) <= MOST_LANES:
                yield {label: size // own for label, size, own in zip(chosen, sizes, counts, strict=True)}


def _labels(rank: int) -> list[str]:
    return [label for label in (f"{LOOP}{place}" for place in range(rank)) if label in LABELS]


def _place(label: str) -> int:
    return int(label.removeprefix(LOOP))


def _choices(cut: Sequence[str], count: int) -> Iterator[Labels]:
    """Yield ``count`` of the labels in their order."""
    for taken in every((False, True), repeat=len(cut)):
        if sum(taken) == count:
            yield tuple(label for label, is_taken in zip(cut, taken, strict=True) if is_taken)


def _lane_counts(rounds: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield lanes for nested loops: an inner one is shared where there is a lane for each place outside of it."""
    if not rounds:
        yield ()
        return
    for count in divisors(rounds[0], 1, most):
        if count == rounds[0]:
            yield from ((count, *others) for others in _lane_counts(rounds[1:], most // count))
        else:
            yield (count, *(1 for _ in rounds[1:]))


def _cut(node: Node, label: str, block: Dim | None) -> Index:
    """Return the index of a dimension that a loop runs over."""
    size = shape_of(node)[_place(label)]
    if block is None:
        return (Atom(label, size),)
    return (Atom(label, size // block), Atom(LABELS[label].size, block))


def _split(index: Index, split: LoopSplit) -> Index:
    found: list[Atom] = []
    for atom in index:
        found += pieces(atom, split.outer) if atom.name == split.name else [atom]
    return tuple(found)


def _loops(writer: Writer, cuts: Mapping[str, Index], lanes: Lanes, node: Node) -> list[BlockLoop]:
    """Return all loops, outermost first, and note what blocks and lanes have to divide.

    Raises:
        NoSchedule: they do not.
    """
    found: list[BlockLoop] = []
    for lane in lanes:
        index, size = cuts[lane.label], shape_of(node)[_place(lane.label)]
        block = writer.blocks.sizes.get(lane.label)
        atoms = [atom for atom in index if str(atom.name).startswith(LOOP)]
        step = 1 if block is None else block.bind(writer.blocks.bound)
        if size.bind(writer.blocks.bound) % step:
            raise NoSchedule(f"{step} does not divide {size}")
        is_one = len(atoms) == 1
        text = f"{size} // {writer.names[lane.label]}" if block is not None and is_one else ""
        numbers = [atom.size.bind(writer.blocks.bound) for atom in atoms]
        own = shared_loops([(atom, text or str(atom.size)) for atom in atoms], lane, numbers)
        for loop in own:
            writer.divide(size if is_one else loop.atom.size, loop.lanes * (step if is_one else 1))
        found += own
    return found
