"""The depth rule: which streams have to hold more elements than their FIFOs do, so that hardware would stop.

An element that one path needs from a fork cannot come while another path from there is full. The page on timing
compares, for each fork and each join, ``D``, how many elements of the fork a path needs for an element at the join, and
``A``, how many another path can take in until then, both composed from the join backwards. Here both are one chain of
*demands*: the first element of a fold demands elements, up to a fork; the fork demands room, down to a unit that waits;
that unit demands elements again. A chain that comes back to where it began is a *ring*: it waits for itself. So rings
of several forks and joins are found as well as those of one.

A size that a file does not fix counts as a number far above any depth. Where periods of paths are multiples of each
other, what the first elements of folds demand decides; where they are not, a ring may begin later, and the rule is
silent. So it is about what data decide: Partition, Merge and sizes that only a run tells demand nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.pace import FIFO_DEPTH, Read
from stepcore.sizes.dim import Dim, DimError, exact_quotient, product
from stepcore.types import Shape, STuple

_MANY: Final = 1 << 20  # times this counts a size that the file does not fix: no FIFO is so deep
_MOST: Final = 64  # demands for each unit, after which the rule is silent
_DEEP: Final = 1 << 400  # more than any demand
_NONE: Final[Mapping[str, int]] = {}
_ONE: Final = Dim.of(1)
Size: TypeAlias = Callable[[Dim], int | None]


@dataclass(slots=True)
class Slot:
    """One input of a unit: its channel, in how many steps one element is read, and whether it is taken at the first."""

    channel: int
    steps: int
    taken: bool


@dataclass(slots=True)
class DepthUnit:
    """One operator on hardware: what it reads, how many steps make an output, and what it writes.

    ``total`` counts its steps where it looks ahead (0: it does not).
    """

    node: int
    slots: list[Slot]
    folds: int
    writes: tuple[int, ...]
    total: int = 0


@dataclass(slots=True, eq=False)
class Demand:
    """``unit`` has to have taken the inputs of its step ``step``, or (``ended``) to have written what the step gives.

    ``why`` demanded it, through ``channel`` (-1: it is the same unit): for elements, or for room.
    """

    unit: int
    ended: bool
    step: int
    channel: int = -1
    why: Demand | None = None


@dataclass(frozen=True, slots=True)
class DepthWaiting:
    """``stream`` has to hold ``elements`` while ``fold`` (a node) has not given the first of its own.

    From there to ``join`` (a node), which reads both, are ``fifos`` FIFOs, and all that holds ``room`` elements. Both
    numbers are None where they are too long to be written down. ``dims`` is how many of its innermost dimensions a
    buffer has to hold; 0: elements are tuples, which no buffer takes. ``depth`` is that of its FIFO with which nothing
    waits for it any more; None: nobody knows.
    """

    stream: int
    fold: int
    join: int
    fifos: int
    elements: Dim | None
    room: Dim | None
    dims: int
    depth: Dim | None = None


class Net:
    """The units of a program and the channels (streams) between them; ``depths`` are those of all channels.

    ``work`` counts down what may still be looked at; at its end nothing is found any more.
    """

    def __init__(self, units: Sequence[DepthUnit], depths: Sequence[int]) -> None:
        self.units = units
        self.depths = list(depths)
        self.work = _MOST * (len(units) + 16)
        producer = {channel: number for number, unit in enumerate(units) for channel in unit.writes}
        # Of each unit: who writes what it reads (and how many steps that takes), who reads what it writes.
        self._above: list[list[tuple[int, int, int, Slot]]] = [[] for _ in units]
        self._below: list[list[tuple[int, Slot]]] = [[] for _ in units]
        for number, unit in enumerate(units):
            for slot in unit.slots:
                writer = producer.get(slot.channel)
                if writer is not None:
                    self._above[number].append((writer, slot.steps, units[writer].folds, slot))
                    self._below[writer].append((number, slot))

    def firsts(self) -> Iterator[Demand]:
        """Yield the first element of each unit that needs several for one."""
        for number, unit in enumerate(self.units):
            if unit.folds > 1 or unit.total:
                yield Demand(number, True, unit.folds)

    def ring(self, start: Demand) -> list[Demand]:
        """Return the ring to which ``start`` leads, each demand before what it demands; empty where there is none."""
        todo = [start]
        known = {(start.unit, start.ended): start}
        for demand in todo:
            if known[demand.unit, demand.ended] is not demand:
                continue  # a greater one took its place
            self.work -= 1
            if self.work < 0:
                return []
            for unit, ended, step, channel in self._follow(demand):
                before = known.get((unit, ended))
                if before is not None and (step < before.step or (step == before.step and before is not start)):
                    continue
                other = Demand(unit, ended, step, channel, demand)
                if before is not None and (above := self._from(before, demand)):
                    return [*above, other]
                known[unit, ended] = other
                todo.append(other)
        return []

    def _follow(self, demand: Demand) -> list[tuple[int, bool, int, int]]:
        """Return what ``demand`` demands: a unit, whether its step has to be ended, the step, the channel."""
        number, step = demand.unit, demand.step
        unit, last = self.units[number], demand.step - 1
        found = []
        if demand.ended:
            written = step // unit.folds
            for reader, slot in self._below[number]:
                room = written - self.depths[slot.channel]
                if room > 0:
                    until = (room - 1) * slot.steps + 1 if slot.taken else room * slot.steps
                    found.append((reader, not slot.taken, until, slot.channel))
            if step < unit.total:
                last = step
        elif step > 1:
            found.append((number, True, step - 1, -1))
        for writer, steps, folds, slot in self._above[number]:
            found.append((writer, True, (last // steps + 1) * folds, slot.channel))
        return found

    def _from(self, first: Demand, last: Demand) -> list[Demand]:
        """Return the chain from ``first`` to ``last``, empty where ``first`` did not lead there."""
        chain: list[Demand] = []
        demand: Demand | None = last
        while demand is not None:
            chain.append(demand)
            if demand is first:
                return chain[::-1]
            demand = demand.why
        self.work -= len(chain)
        return []


def net_of(graph: TypedGraph, depths: Sequence[int], size: Size) -> Net:
    """Return the units of ``graph``; ``depths`` are those of its streams.

    ``size`` gives the number that a size is, None where it has none: such a unit is left out, as are those without a
    pace.
    """
    inside = _inside(graph)
    units = (_unit(graph, node, inside, size) for node in graph.nodes if node.outputs and node.outputs[0] not in inside)
    return Net([unit for unit in units if unit is not None], depths)


def _inside(graph: TypedGraph) -> dict[int, TypedNode]:
    """Return, by their results, the operators that join streams for the unit that applies a function to them."""
    found: dict[int, TypedNode] = {}
    for node in reversed(graph.nodes):
        pace = node.op.pace
        if pace is None or not (pace.applies or (pace.joins and node.outputs[0] in found)):
            continue
        for index in node.inputs:
            producer = graph.streams[index].producer
            if producer is not None and (before := graph.nodes[producer].op.pace) is not None and before.joins:
                found[index] = graph.nodes[producer]
    return found


def _unit(graph: TypedGraph, node: TypedNode, inside: Mapping[int, TypedNode], size: Size) -> DepthUnit | None:
    pace = node.op.pace
    if pace is None or node.op.fills:
        return None
    folds = _number(_folded(graph, node), size) if pace.folds else 1
    total = _number(_shape(graph, node.outputs[0]), size) if pace.ahead and _looks_ahead(graph, node) else 0
    slots = []
    for number, index in enumerate(node.inputs):
        read = pace.read(number)
        steps = _number(_repeated(graph, node, number), size) if read in (Read.REPEATED, Read.SPREAD) else 1
        if steps is None:
            return None
        channels = _channels(index, inside) if index in inside else (index,)
        slots += [Slot(channel, steps, read in (Read.TAKEN, Read.SPREAD)) for channel in channels]
    return None if folds is None or total is None else DepthUnit(node.index, slots, folds, node.outputs, total)


def _channels(index: int, inside: Mapping[int, TypedNode]) -> list[int]:
    todo, found = [index], []
    while todo:
        index = todo.pop()
        node = inside.get(index)
        if node is None:
            found.append(index)
        else:
            todo.extend(reversed(node.inputs))
    return found


def _folded(graph: TypedGraph, node: TypedNode) -> Shape:
    """Return the sizes of which all elements give one."""
    pace = node.op.pace
    before, after = _shape(graph, node.inputs[0]), _shape(graph, node.outputs[0])
    return before[: len(before) - len(after)] if pace is not None and pace.folds else ()


def _repeated(graph: TypedGraph, node: TypedNode, slot: int) -> Shape:
    """Return the sizes for all of which one element of an input is read."""
    return node.op.rounds(
        [graph.streams[index].type for index in node.inputs], graph.streams[node.outputs[0]].type, slot
    )


def _looks_ahead(graph: TypedGraph, node: TypedNode) -> bool:
    return node.op.looks_ahead(len(_shape(graph, node.inputs[0])) - 1)


def _shape(graph: TypedGraph, index: int) -> Shape:
    return graph.streams[index].type.shape


def _number(shape: Shape, size: Size) -> int | None:
    result = 1
    for dim in shape:
        number = size(dim)
        if number is None:
            return None
        result *= number
    return result


def waits(graph: TypedGraph, bindings: Mapping[str, int] = _NONE, fixed: Iterable[str] = ()) -> list[DepthWaiting]:
    """Return what has to wait in ``graph`` with FIFOs of the depths that it gives them, of the usual one otherwise.

    ``bindings`` are the sizes of a run; only those named in ``fixed`` are numbers of the program. Of the streams on a
    way that is too short the one is named that, once it waits, leaves the fewest others waiting; of equal ones the
    first.
    """
    size = _Large(bindings, fixed)
    written = depths_of(graph)
    net = net_of(graph, [size(depth) or _DEEP for depth in written], size)
    found: dict[int, DepthWaiting] = {}
    starts = list(net.firsts())
    for start in starts:
        while chain := net.ring(start):
            ring = _Ring(graph, net, chain, written)
            places = range(len(ring.path))
            place = min(places, key=lambda place: _still_waiting(net, starts, ring.path[place])) if places[1:] else 0
            waiting = ring.waiting(place)
            elements = None if waiting.elements is None else size(waiting.elements)
            if elements is None or elements <= net.depths[waiting.stream]:
                elements = _DEEP  # nobody knows how many
            net.depths[waiting.stream] = elements
            found[waiting.stream] = replace(waiting, dims=_dims(graph, waiting.stream, elements, size))
    return [replace(item, depth=_depth(net, starts, item, written[item.stream])) for item in found.values()]


def depths_of(graph: TypedGraph) -> list[Dim]:
    """Return the depths of the FIFOs of all streams: those that the program gives, the usual one otherwise."""
    depths = [Dim.of(FIFO_DEPTH)] * len(graph.streams)
    for node in graph.nodes:
        if node.op.depth is not None:
            for index in node.outputs:
                depths[index] = Dim.of(node.op.depth)
    return depths


def _depth(net: Net, starts: Sequence[Demand], waiting: DepthWaiting, own: Dim) -> Dim | None:
    """Return the depth with which no fold waits for itself by way of a stream: what has to be held, and that less what
    the way behind its FIFO holds, if that is a number that does. ``own`` is the depth that the FIFO has.
    """
    needed, channel = waiting.elements, waiting.stream
    if needed is None or net.depths[channel] == _DEEP:
        return None
    number = None if waiting.fifos == 1 or waiting.room is None else (needed - (waiting.room - own)).constant
    if number is None or not 0 < number < net.depths[channel]:
        return needed  # what is taken from a size may leave nothing at other sizes
    held, net.depths[channel] = net.depths[channel], number
    if not any(map(net.ring, starts)) and net.work > 0:
        return Dim.of(number)
    net.depths[channel] = held
    return needed


def _still_waiting(net: Net, starts: Iterable[Demand], channel: int) -> int:
    """Return how many folds wait for themselves where ``channel`` holds whatever comes."""
    depth, net.depths[channel] = net.depths[channel], _DEEP
    count = sum(bool(net.ring(start)) for start in starts)
    net.depths[channel] = depth
    return count


def _dims(graph: TypedGraph, channel: int, elements: int, size: Size) -> int:
    """Return how many of the innermost dimensions of a stream hold so many elements, 0 where no buffer takes them."""
    stream = graph.streams[channel].type
    if isinstance(stream.element, STuple):
        return 0
    held = 1
    for dims, dim in enumerate(stream.shape, 1):
        held *= size(dim) or 1
        if held >= elements:
            return dims
    return 0


class _Large:
    """Gives sizes as numbers, those that a file does not fix as ones far above any depth."""

    def __init__(self, bindings: Mapping[str, int], fixed: Iterable[str]) -> None:
        kept = set(fixed)
        self._sizes = {name: size if name in kept else size * _MANY for name, size in bindings.items()}
        self._known: dict[Dim, int | None] = {}

    def __call__(self, size: Dim) -> int | None:
        found = self._known.get(size, 0)  # no number is 0
        if found == 0:
            found = self._known[size] = self._number(size)
        return found

    def _number(self, size: Dim) -> int | None:
        if size.is_open:
            return None  # only a run tells
        for name in size.symbols():
            self._sizes.setdefault(name, _MANY)
        try:
            return max(size.bind(self._sizes), 1)
        except DimError:
            return None


class _Ring:
    """Reads from a ring what has to wait for what, and how much that is in the sizes of the program.

    ``path`` are the channels from its first fork down to where both are read.
    """

    def __init__(self, graph: TypedGraph, net: Net, ring: Sequence[Demand], depths: Sequence[Dim]) -> None:
        self._graph = graph
        self._net = net
        self._depths = depths
        links = [link for link in pairwise(ring) if link[1].channel >= 0]
        while self._is_room(*links[-1]) or not self._is_room(*links[0]):
            links = [*links[1:], links[0]]
        down = next(place for place, link in enumerate(links) if not self._is_room(*link))
        last = max(place for place, link in enumerate(links) if self._is_room(*link))
        self._down, self._up, self._needs = links[:down], links[down:], links[last + 1 :]
        self.path = [link[1].channel for link in self._down]

    def _is_room(self, demand: Demand, other: Demand) -> bool:
        return other.channel in self._net.units[demand.unit].writes

    def waiting(self, place: int) -> DepthWaiting:
        """Return what waits in the channel at ``place`` of the path."""
        above = [self._net.units[link[1].unit] for link in self._up]
        fold = next(unit for unit in above if unit.folds > 1 or unit.total)
        join = self._net.units[self._down[-1][1].unit].node
        elements: Dim | None = None
        room: Dim | None = None
        with suppress(DimError):  # too long to be written down
            elements, room = self._elements(place), self._room(place)
        return DepthWaiting(self.path[place], fold.node, join, len(self.path) - place, elements, room, 0)

    def _node(self, unit: int) -> TypedNode:
        return self._graph.nodes[self._net.units[unit].node]

    def _elements(self, place: int) -> Dim:
        """Return how many elements come to ``place`` before the first step below the fork (D of the timing page)."""
        step = _ONE
        for demand, other in self._needs:
            if demand.ended and self._net.units[demand.unit].total:  # it looks ahead
                total = product(_shape(self._graph, self._node(demand.unit).outputs[0]))
                step = step if step == total else step + 1
            step = _rounded_up(step, self._repeated(demand.unit, other.channel))
            step = _times(step, _folded(self._graph, self._node(other.unit)))
        for (_, demand), channel in zip(self._down[:place], self.path, strict=False):
            step = _times(step, self._repeated(demand.unit, channel))
            step = _rounded_down(step, _folded(self._graph, self._node(demand.unit)))
        return step

    def _room(self, first: int) -> Dim:
        """Return how many elements are held from ``first`` on before the first step at the end (A of the page)."""
        held = self._depths[self.path[-1]]
        for place in range(len(self.path) - 1, first, -1):
            unit, before = self._down[place][0].unit, self.path[place - 1]
            done = _times(held, _folded(self._graph, self._node(unit)))
            slot = next(slot for slot in self._net.units[unit].slots if slot.channel == before)
            held = _rounded_down(done, self._repeated(unit, before)) + slot.taken + self._depths[before]
        return held

    def _repeated(self, unit: int, channel: int) -> Shape:
        node = self._node(unit)
        return _repeated(self._graph, node, node.inputs.index(channel)) if channel in node.inputs else ()


def _times(size: Dim, shape: Shape) -> Dim:
    if not shape:
        return size
    return product(shape) if size is _ONE else size * product(shape)


def _rounded_up(size: Dim, shape: Shape) -> Dim:
    if not shape or size is _ONE:
        return size
    by = product(shape)
    exact = exact_quotient(size, by)
    return exact if exact is not None and exact.is_integral else (size + by - 1) // by


def _rounded_down(size: Dim, shape: Shape) -> Dim:
    if not shape:
        return size
    by = product(shape)
    return Dim.of(0) if size.constant is not None and by.constant is None else size // by
