"""Families of streams, and those of numbers, which no memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.writer.families import POSITION, Family, Loops, ProgramLane, lane_count
from stepagents.schedules.writer.functions import FunctionWriter
from stepcore.types import Tile

_ONE: Final = Tile("fp32", (1, 1))


@dataclass(slots=True)
class FamilyWriter(FunctionWriter):
    """Writes families of streams that are shared by lanes, and of numbers of blocks."""

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
