"""Programs over tiles as text: loads shared by lanes, element functions, loops of lanes, and what each costs.

Lanes are indices of Python loops in the program; a family of streams has one for each of its lanes. A tensor's tiles
that several lanes read are loaded once and copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import lcm, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import declared
from stepagents.schedules.costs import LoadCost, ScheduleCosts, UnitCost
from stepagents.schedules.naming import line_comment
from stepagents.schedules.parts import LABELS, WHOLE, Blocks, NoSchedule, TilePart, scalar_of
from stepagents.schedules.repeats import LoopShares, RepeatedLoad, loop_shares, repeated
from stepagents.schedules.tile_ops import TileBody
from stepagents.traced.graph import size_text
from stepcore.fn.decl import FnDecl
from stepcore.printing.code_lines import factor
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product
from stepcore.types import DTYPE_BYTES, Element, Scalar, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

POSITION: Final = Scalar("int64")
_ONE: Final = Tile("fp32", (1, 1))
_OTHER_ORDER: Final = "a load cannot follow the blocks of this tensor: they do not lie in the order of the loops"
_BW: Final = "bw=@"  # what stands for the FLOPs per cycle of a unit until all are known


class MemoryView(Record):
    """A tensor whose memory has other sizes: ``dims``, and what makes the tensor of the memory, as a method call."""

    dims: tuple[Dim, ...]
    method: str


class ProgramLane(Record):
    """Lanes along the blocks of a label: each has a run of blocks, or every ``count``-th one where ``dealt``."""

    label: str
    count: int
    dealt: bool = False

    @property
    def index(self) -> str:
        """The name of its index."""
        return LABELS[self.label].index


Lanes: TypeAlias = tuple[ProgramLane, ...]
Loops: TypeAlias = Sequence[tuple[str, Dim]]  # the fastest first, each with the size that it runs over


def lane_count(lanes: Lanes) -> int:
    """Return how many lanes there are together."""
    return prod(lane.count for lane in lanes)


class Family(Record):
    """Streams of one name: an index for each of ``lanes``, then ``copies`` of each, shared by ``readers``."""

    name: str
    lanes: tuple[ProgramLane, ...] = ()
    readers: tuple[ProgramLane, ...] = ()
    uses: int = 1

    def text(self, use: int = 0) -> str:
        """Return the stream of the lanes whose indices are in scope, the ``use``-th copy of it."""
        text = self.name + "".join(f"[{lane.index}]" for lane in self.lanes)
        place = ""
        for lane in self.readers:
            place = lane.index if not place else f"{lane.count} * {_bracketed(place)} + {lane.index}"
        if self.uses > 1:
            place = str(use) if not place else f"{self.uses} * {_bracketed(place)} + {use}"
        return f"{text}[{place}]" if place else text


def _bracketed(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


@dataclass(slots=True)
class Writer:
    """One program in the making.

    ``loops`` are the loops of a lane, by label: how many rounds as a size, ``lanes`` the indices by label.
    """

    blocks: Blocks
    lanes: Mapping[str, ProgramLane]
    taken: set[str]
    names: Mapping[str, str]  # of the tiles' sizes, by label
    burst: int
    anchor: str  # the name of a tensor in memory
    lines: list[str] = field(default_factory=list)
    fns: list[FnDecl] = field(default_factory=list)
    costs: ScheduleCosts = field(default_factory=ScheduleCosts)
    divisors: dict[str, int] = field(default_factory=dict)  # what must divide a size, by its text
    may_end: bool = False  # the last lane of rows may have fewer blocks than the others
    least: dict[str, int] = field(default_factory=dict)  # the one size that such a program is for, by its text
    bounded: dict[str, Dim] = field(default_factory=dict)  # what whole numbers of a tensor do not exceed
    views: dict[str, MemoryView] = field(default_factory=dict)  # of tensors whose memory has other sizes
    runs: Mapping[str, tuple[Dim, ...]] = field(default_factory=dict)  # the dimensions that a loop runs over
    _said: set[str] = field(default_factory=set)
    _counts: dict[str, str] = field(default_factory=dict)

    # -- sizes -------------------------------------------------------------------------------------

    def rounds(self, label: str, node_dim: Dim) -> int:
        """Return how many blocks a lane has along a dimension.

        Raises:
            NoSchedule: blocks and lanes do not divide it.
        """
        step = self._lane_count(label)
        if self.blocks.sizes[label].constant is not None:  # else it is a share of the size itself
            step *= self.blocks.sizes[label].bind(self.blocks.bound)
        size = node_dim.bind(self.blocks.bound)
        if self.is_uneven(label, size):
            self.hold(node_dim, size)
            return -(-size // step)
        if size % step:
            raise NoSchedule(f"{step} does not divide {node_dim} = {size}")
        shares = self._shares(label)
        if shares is None:
            self.divide(node_dim, step)
        else:
            for dim, lanes, block in zip(shares.dims, shares.lanes, shares.blocks, strict=True):
                self.divide(dim, lanes * block)
        return size // step if self.blocks.sizes[label].constant is not None else 1

    def is_uneven(self, label: str, size: int) -> bool:
        """Whether lanes do not divide the blocks of a dimension, of which the last one then has fewer."""
        if not self.may_end or label != "r" or self.blocks.sizes[label].constant is None:
            return False
        block, lanes = self.blocks.sizes[label].bind(self.blocks.bound), self._lane_count(label)
        blocks = size // block
        return size % block == 0 and blocks % lanes != 0 and -(-blocks // lanes) * (lanes - 1) < blocks

    def divide(self, size: Dim, step: int) -> None:
        """Note that ``step`` must divide a size."""
        if size.constant is None:
            text = str(size)
            self.divisors[text] = lcm(self.divisors.get(text, 1), step)

    def hold(self, size: Dim, number: int) -> None:
        """Note that the program is for one value of a size."""
        if size.constant is None:
            self.least[str(size)] = self.divisors[str(size)] = number

    def _shares(self, label: str) -> LoopShares | None:
        """Return how lanes share a loop over several dimensions; None for others, or where they cut it unevenly."""
        dims = [dim for dim in self.runs.get(label, ()) if dim != 1]
        block = self.blocks.sizes[label].constant
        lane = self.lanes.get(label)
        if len(dims) < 2 or block is None or (lane is not None and lane.dealt):
            return None
        return loop_shares(dims, self._lane_count(label), (block, self.names.get(label, "")), self.blocks.bound)

    def _lane_count(self, label: str) -> int:
        return self.lanes[label].count if label in self.lanes else 1

    def loop(self, label: str, size: Dim) -> str:
        """Return the name of a loop's count, defined at the top of the program."""
        if size == 1:
            return "1"
        if label not in self._counts:
            self.rounds(label, size)
            name = fresh_name(LABELS[label].count, self.taken)
            self._counts[label] = name
            block = self.names.get(label, "")
            divisors = [text for text in (block, self._lane_count(label)) if text not in ("", 1)]
            value = " // ".join(map(str, [factor(str(size)), *divisors]))
            if (shares := self._shares(label)) is not None:
                value = shares.text()
            if self.is_uneven(label, size.bind(self.blocks.bound)):
                value = str(self.rounds(label, size))
            self.lines.append(f"{name} = {value}")
        return self._counts[label]

    def rounds_of(self, loops: Loops) -> int:
        """Return how many blocks a lane has in nested loops."""
        return prod(self.rounds(label, size) for label, size in loops)

    def elements(self, part: TilePart) -> int:
        """Return the elements of a part's tile."""
        return prod(self.blocks.numbers(part))

    def with_block(self, label: str, size: Dim) -> Writer:
        """Return a writer of the same program whose blocks of ``label`` are of ``size``, and in one lane."""
        other = copy(self)
        own = self.blocks.sizes[label]
        other.blocks = Blocks({**self.blocks.sizes, label: size}, self.blocks.bound)
        count = size.bind(self.blocks.bound) // own.bind(self.blocks.bound)
        other.lanes = {key: lane for key, lane in self.lanes.items() if key != label}
        name = self.names[label]
        other.names = {**self.names, label: name if count == 1 else f"{count} * {name}"}
        return other

    # -- operators ---------------------------------------------------------------------------------

    def said(self, node: Node) -> None:
        """Say above what follows from which line of the user's file it is, once for each line."""
        comment = line_comment(node)
        if not self._said.issuperset(comment):
            self._said.update(comment)
            self.lines += comment

    def load(self, part: TilePart, loops: Loops, readers: Sequence[ProgramLane], uses: int = 1) -> Family:
        """Write the loads of a tensor of the user, one for each lane that has tiles of its own.

        ``loops`` are those of the stream, the fastest first, each with the size that it runs over.

        Raises:
            NoSchedule: its tiles are not in an order that a load can follow.
        """
        repeats = self.follows(part, loops)
        if part.is_position:
            if repeats:
                raise NoSchedule("positions cannot be counted where rows run over several dimensions", part.node)
            return self.counted(part.labels[0], loops, readers, uses)
        uneven = {label for label, size in loops if self.is_uneven(label, size.bind(self.blocks.bound))}
        walks = {label for label in part.labels if label not in repeats or repeats[label].lanes > 1}
        own = tuple(lane for lane in self._live(readers) if lane.label in walks or lane.label in uneven)
        shared = tuple(lane for lane in self._live(readers) if lane not in own)
        strides = {label: self.stride(part, label) for label, _ in loops}
        shape: list[tuple[str, str]] = []  # and strides
        joined: list[int] = []
        for label, size in loops:
            if label in repeats:
                self.loop(label, size)
                joined += range(len(shape) + 1, len(shape) + len(repeats[label].steps))
                shape += repeats[label].steps
            else:
                shape.append((self._own_count(label, size), self._step(strides[label], label)))
        rows, columns = self.blocks.tile(part)
        tile = ", ".join(self._tile_text(size, label) for size, label in zip((rows, columns), part.matrix, strict=True))
        arguments = [f"tensor={part.node.name}", f"tile=[{tile}]"]
        if shape:
            counts, steps = zip(*shape, strict=True)
            arguments += [f"shape=[{', '.join(counts)}]", f"stride=[{', '.join(steps)}]"]
        base = self.base(part, own, [label for label, _ in loops], repeats)
        if base:
            arguments.append(f"base={base}")
        arguments.append("dispatch=@")
        text = f"step.LinearOffChipLoad({', '.join(arguments)}).apply()"
        if joined:
            text = f"step.Flatten(L={joined}).apply({text})"
        calls = self.rounds_of(loops)
        self.costs.loads.append(LoadCost(lane_count(own), calls, self.bursts(part)))
        return self.shared(text, f"{part.node.name}_tiles", own, shared, uses)

    def follows(self, part: TilePart, loops: Loops) -> dict[str, RepeatedLoad]:
        """Return how a part is walked along loops over more than it has, by their labels.

        Where rows of tiles run over several dimensions, tiles have to divide the last one, which is noted.

        Raises:
            NoSchedule: they do not, or the part has another order than a loop.
        """
        dims = self.blocks.dims(part.node)
        found: dict[str, RepeatedLoad] = {}
        for label, size in loops:
            covered = [dim for dim, own in zip(dims, part.labels, strict=True) if own == label and dim != 1]
            if covered and product(covered).bind(self.blocks.bound) != size.bind(self.blocks.bound):
                shares = self._shares(label)
                repeat = None if shares is None else repeated(shares, covered, self.stride(part, label))
                if repeat is None:
                    raise NoSchedule(_OTHER_ORDER, part.node)
                found[label] = repeat
                continue
            block = self.blocks.sizes[label].constant
            if part.labels.count(label) < 2 or block in (None, 1):
                continue
            rows = dims[len(part.labels) - 1 - part.labels[::-1].index(label)]
            own = rows.bind(self.blocks.bound)
            if own % block:
                raise NoSchedule(f"{block} does not divide {rows} = {own}, which rows run over besides")
            self.divide(rows, block)
        return found

    def _own_count(self, label: str, size: Dim) -> str:
        """Return how many blocks the lane at hand has: the last one may have fewer."""
        name, number = self.loop(label, size), size.bind(self.blocks.bound)
        if not self.is_uneven(label, number):
            return name
        blocks = number // self.blocks.sizes[label].bind(self.blocks.bound)
        return f"min({name}, {blocks} - {self.lanes[label].index} * {name})"

    def counted(self, label: str, loops: Loops, readers: Sequence[ProgramLane], uses: int) -> Family:
        """Write streams of the numbers of blocks along a label, as many as ``loops`` have rounds, for each lane.

        A number is counted, as no memory holds it; each lane's are those of the lane before, further by its blocks.

        Raises:
            NoSchedule: the last lane has fewer blocks than the others.
        """
        own = tuple(lane for lane in self._live(readers) if lane.label == label)
        if any(self.is_uneven(other, size.bind(self.blocks.bound)) for other, size in loops):
            raise NoSchedule("positions cannot be counted where the last lane has fewer blocks")
        shared = tuple(lane for lane in self._live(readers) if lane not in own)
        lane = own[0] if own else ProgramLane(label, 1)
        step = lane.count if lane.dealt else 1
        text = self.zero()
        rounds = self.rounds_of(loops)
        for other, size in reversed(loops):
            text = f"step.Repeat(n={self.loop(other, size)}).apply({text})"
            if other == label:
                text = self.counting(text, rounds)
        if step > 1:
            unit = UnitCost(1, rounds, 0)
            call = self.function("dealt", [POSITION], POSITION, f"return [{step} * input[0]]", unit)
            text = f"step.Map({call.format('')}).apply({text})"
        if loops:
            text = f"step.Flatten(L=[{len(loops)}]).apply({text})"
        name = fresh_name({"r": "row_blocks", "c": "column_blocks"}.get(label, "blocks"), self.taken)
        if not own:
            return self.shared(text, name, own, shared, uses)
        distance = "1" if lane.dealt else self._run_text(label, loops)
        body = f"return [input[0] + {distance}]"
        further = self.function("further", [POSITION], POSITION, body, UnitCost(lane.count, rounds, 0)).format("")
        return self.walked(text, name, lane, shared, uses, further)

    def zero(self) -> str:
        """Write a stream of one 0, as a number."""
        none = self.function("zero", [_ONE], POSITION, "return [torch.zeros((), dtype=torch.int64)]", UnitCost(1, 1, 0))
        source = f"step.LinearOffChipLoad(tensor={self.anchor}, tile=[1, 1], shape=[1], stride=[0]).apply()"
        self.costs.loads.append(LoadCost(1, 1, 1))
        return f"step.Map({none.format('')}).apply({source})"

    def counting(self, text: str, rounds: int) -> str:
        """Write a stream of the numbers from 0 instead of others, in each innermost list anew."""
        unit = UnitCost(1, rounds, 0)
        call = self.function("count", [POSITION], POSITION, "return [state[0] + 1]", unit, (-1.0,))
        return f"step.Scan({call.format(', b=1')}).apply({text})"

    def walked(
        self, text: str, name: str, lane: ProgramLane, readers: tuple[ProgramLane, ...], uses: int, further: str
    ) -> Family:
        """Write a family whose first stream is ``text`` and in which each is ``further`` than the one before."""
        self.lines += [
            f"{name} = [{text}]",
            f"for {lane.index} in range(1, {lane.count}):",
            f"    {name}[{lane.index} - 1], here = step.Copy().apply({name}[{lane.index} - 1])",
            f"    {name}.append(step.Map({further}).apply(here))",
        ]
        copies = lane_count(readers) * uses
        if copies > 1:
            self.lines.append(f"{name} = [step.Copy(n={copies}).apply(each) for each in {name}]")
        return Family(name, (lane,), readers, uses)

    def _run_text(self, label: str, loops: Loops) -> str:
        """Return how many blocks a lane has along a label, as text for a body."""
        size = next((size for other, size in loops if other == label), None)
        if size is None:
            return "1"
        step = self._lane_count(label)
        if self.blocks.sizes[label].constant is not None:
            step *= self.blocks.sizes[label].bind(self.blocks.bound)
        return f"{factor(size_text(size))} // {step}"

    def base(
        self,
        part: TilePart,
        lanes: Sequence[ProgramLane],
        looped: Sequence[str],
        repeats: Mapping[str, RepeatedLoad] = MappingProxyType({}),
    ) -> str:
        """Return the number of the first tile of each lane; one without a loop has one block."""
        terms: list[str] = []
        for lane in lanes:
            if lane.label in repeats:
                terms.append(repeats[lane.label].base(lane.index))
                continue
            stride = self.stride(part, lane.label)
            run = [self._counts[lane.label]] if lane.label in looped and not lane.dealt else []
            if lane.label not in looped:
                self.rounds(lane.label, self.blocks.dims(part.node)[part.labels.index(lane.label)])
            terms.append(_times(lane.index, *run, stride))
        return " + ".join(term for term in terms if term != "0")

    def shared(
        self, text: str, name: str, own: tuple[ProgramLane, ...], readers: tuple[ProgramLane, ...], uses: int = 1
    ) -> Family:
        """Write a family of streams: ``text`` for each of the lanes ``own``, copied for ``readers`` and uses."""
        copies = lane_count(readers) * uses
        if copies > 1:
            number = "" if copies == 2 else f"n={copies}"
            text = f"step.Copy({number}).apply({text})"
        for lane in reversed(own):
            text = f"[{text} for {lane.index} in range({lane.count})]"
        name = fresh_name(name, self.taken)
        self.lines.append(f"{name} = {text}")
        return Family(name, own, readers, uses)

    def _live(self, lanes: Sequence[ProgramLane]) -> tuple[ProgramLane, ...]:
        return tuple(dict.fromkeys(lane for lane in lanes if lane.count > 1))

    def live(self, *labels: str) -> tuple[ProgramLane, ...]:
        """Return the lanes of labels, without those that are a single one."""
        return self._live([self.lanes[label] for label in labels if label in self.lanes])

    def stride(self, part: TilePart, label: str) -> str:
        """Return how many tiles further the next block of a label is, 0 where the part has no such label.

        Raises:
            NoSchedule: blocks with this label do not follow one another.
        """
        if label not in part.labels:
            return "0"
        dims = self.blocks.dims(part.node)
        first = part.labels.index(label)
        last = len(part.labels) - 1 - tuple(reversed(part.labels)).index(label)
        if any(part.labels[place] != label and dims[place] != 1 for place in range(first, last)):
            raise NoSchedule(_OTHER_ORDER, part.node)
        factors: list[str] = []
        for place in range(last + 1, len(dims)):
            other = part.labels[place]
            in_tile = place >= len(dims) - 2
            if in_tile and other == WHOLE:
                continue
            size = factor(str(dims[place]))
            block = self.names.get(other) if in_tile else None
            factors.append(size if block is None else f"{size} // {_bracketed(block)}")
        return " * ".join(each if each.isidentifier() or len(factors) == 1 else f"({each})" for each in factors) or "1"

    def _step(self, stride: str, label: str) -> str:
        lane = self.lanes.get(label)
        return _times(str(lane.count), stride) if lane is not None and lane.dealt and lane.count > 1 else stride

    def _tile_text(self, size: Dim, label: str) -> str:
        return self.names.get(label, str(size)) if label != WHOLE else str(size)

    def bursts(self, part: TilePart) -> int:
        """Return the bursts of a part's tile."""
        rows, columns = self.blocks.numbers(part)
        return rows * -(-DTYPE_BYTES[scalar_of(part.node)] * columns // self.burst)

    # -- functions ---------------------------------------------------------------------------------

    def tile_type(self, part: TilePart) -> Tile:
        """Return the tile of a part that is no position."""
        return Tile(scalar_of(part.node), self.blocks.tile(part))

    def element(self, part: TilePart) -> Tile | Scalar:
        """Return the element of a part's stream."""
        return POSITION if part.is_position else self.tile_type(part)

    def bytes_of(self, part: TilePart) -> int:
        """Return the bytes of a part's tile; none for a position."""
        return 0 if part.is_position else self.elements(part) * DTYPE_BYTES[scalar_of(part.node)]

    def function(
        self,
        name: str,
        inputs: Sequence[Tile | Scalar] | STuple,
        output: Element,
        body: str,
        unit: UnitCost,
        init: tuple[float, ...] | None = None,
    ) -> str:
        """Declare an element function, or find the one that says the same; return its name for a call, with ``bw``.

        ``unit`` is what one unit costs; units that share the function are counted together.
        """
        several = inputs if isinstance(inputs, STuple) else STuple(tuple(inputs))
        given: Element = several if len(several.items) > 1 else several.items[0]
        self.costs.units.append(unit)
        speed = f", {_BW}{len(self.costs.units) - 1}@" if unit.flops else ""
        for fn in self.fns:
            if (fn.input, fn.output, fn.init) == (given, output, init) and fn.body.source.text == body:
                return f"fn={fn.func_name}{{}}{speed}"
        name = fresh_name(name, self.taken)
        self.fns.append(declared(name, given, output, body, init))
        return f"fn={name}{{}}{speed}"

    def mapped(self, name: str, body: TileBody, part: TilePart, result: str, unit: UnitCost) -> str:
        """Return the call of Map that computes ``part``."""
        types = [self.element(each) for each in body.inputs]
        return f"step.Map({self.function(name, types, self.tile_type(part), body.returning(result), unit).format('')})"

    def text(self, dispatch: int | None) -> str:
        """Return the program; ``dispatch`` bursts per cycle are those of each port, None where the chip's do."""
        port = "" if dispatch is None else f", dispatch={dispatch}"
        text = "\n".join(self.lines).replace(", dispatch=@", port)
        for number, speed in enumerate(self.costs.speeds()):
            text = text.replace(f"{_BW}{number}@", f"bw={speed}")
        return text


def tuple_text(streams: Sequence[str]) -> str:
    """Return streams as the argument of an operator."""
    return streams[0] if len(streams) == 1 else f"({', '.join(streams)})"


def _times(*factors: str) -> str:
    if "0" in factors:
        return "0"
    kept = [each for each in factors if each != "1"]
    return (
        " * ".join(each if " " not in each or len(kept) == 1 or "//" not in each else f"({each})" for each in kept)
        or "1"
    )
