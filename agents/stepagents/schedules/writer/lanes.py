"""What lanes share of loops: rounds, what divides a size, and what a program is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import lcm, prod
from typing import Self

from stepagents.lower.functions import fresh_name
from stepagents.schedules.costs import ScheduleCosts
from stepagents.schedules.parts import LABELS, Blocks, NoSchedule
from stepagents.schedules.repeats import LoopShares, loop_shares
from stepagents.schedules.writer.families import Loops, MemoryView, ProgramLane
from stepagents.traced.graph import size_text
from stepcore.fn.decl import FnDecl
from stepcore.printing.code_lines import factor
from stepcore.sizes.dim import Dim


@dataclass(slots=True)
class LoopWriter:
    """The state of one program in the making, and how many blocks each lane has in its loops.

    ``lanes`` are the lanes of a label, ``names`` how the program calls the sizes of its blocks.
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

    def _own_count(self, label: str, size: Dim) -> str:
        """Return how many blocks the lane at hand has: the last one may have fewer."""
        name, number = self.loop(label, size), size.bind(self.blocks.bound)
        if not self.is_uneven(label, number):
            return name
        blocks = number // self.blocks.sizes[label].bind(self.blocks.bound)
        return f"min({name}, {blocks} - {self.lanes[label].index} * {name})"

    def _run_text(self, label: str, loops: Loops) -> str:
        """Return how many blocks a lane has along a label, as text for a body."""
        size = next((size for other, size in loops if other == label), None)
        if size is None:
            return "1"
        step = self._lane_count(label)
        if self.blocks.sizes[label].constant is not None:
            step *= self.blocks.sizes[label].bind(self.blocks.bound)
        return f"{factor(size_text(size))} // {step}"

    def with_block(self, label: str, size: Dim) -> Self:
        """Return a writer of the same program whose blocks of ``label`` are of ``size``, and in one lane."""
        other = copy(self)
        own = self.blocks.sizes[label]
        other.blocks = Blocks({**self.blocks.sizes, label: size}, self.blocks.bound)
        count = size.bind(self.blocks.bound) // own.bind(self.blocks.bound)
        other.lanes = {key: lane for key, lane in self.lanes.items() if key != label}
        name = self.names[label]
        other.names = {**self.names, label: name if count == 1 else f"{count} * {name}"}
        return other

    def live(self, *labels: str) -> tuple[ProgramLane, ...]:
        """Return the lanes of labels, without those that are a single one."""
        return self._live([self.lanes[label] for label in labels if label in self.lanes])

    def _live(self, lanes: Sequence[ProgramLane]) -> tuple[ProgramLane, ...]:
        return tuple(dict.fromkeys(lane for lane in lanes if lane.count > 1))
