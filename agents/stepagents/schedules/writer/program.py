"""Loads of tensors, and the text of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import LoadCost
from stepagents.schedules.naming import line_comment
from stepagents.schedules.parts import WHOLE, NoSchedule, TilePart, scalar_of
from stepagents.schedules.repeats import RepeatedLoad, repeated
from stepagents.schedules.writer.counts import FamilyWriter
from stepagents.schedules.writer.families import Family, Loops, ProgramLane, bracketed, lane_count, times
from stepagents.schedules.writer.functions import BW_MARK
from stepcore.printing.code_lines import factor
from stepcore.sizes.dim import Dim, product
from stepcore.types import DTYPE_BYTES

if TYPE_CHECKING:
    from torch.fx import Node


_OTHER_ORDER: Final = "a load cannot follow the blocks of this tensor: they do not lie in the order of the loops"


@dataclass(slots=True)
class Writer(FamilyWriter):
    """One program in the making: loads of tensors in the order of loops, and the text of the whole."""

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
            terms.append(times(lane.index, *run, stride))
        return " + ".join(term for term in terms if term != "0")

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
            factors.append(size if block is None else f"{size} // {bracketed(block)}")
        return " * ".join(each if each.isidentifier() or len(factors) == 1 else f"({each})" for each in factors) or "1"

    def _step(self, stride: str, label: str) -> str:
        lane = self.lanes.get(label)
        return times(str(lane.count), stride) if lane is not None and lane.dealt and lane.count > 1 else stride

    def _tile_text(self, size: Dim, label: str) -> str:
        return self.names.get(label, str(size)) if label != WHOLE else str(size)

    def bursts(self, part: TilePart) -> int:
        """Return the bursts of a part's tile."""
        rows, columns = self.blocks.numbers(part)
        return rows * -(-DTYPE_BYTES[scalar_of(part.node)] * columns // self.burst)

    def text(self, dispatch: int | None) -> str:
        """Return the program; ``dispatch`` bursts per cycle are those of each port, None where the chip's do."""
        port = "" if dispatch is None else f", dispatch={dispatch}"
        text = "\n".join(self.lines).replace(", dispatch=@", port)
        for number, speed in enumerate(self.costs.speeds()):
            text = text.replace(f"{BW_MARK}{number}@", f"bw={speed}")
        return text
