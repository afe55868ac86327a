"""The loops of a program over blocks: what each runs over, how lanes share it, and their texts. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from stepagents.schedules.indices import Atom
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.writer import ProgramLane
from stepcore.printing.code_lines import factor
from stepcore.records import Record


class BlockLoop(Record):
    """A loop over ``size`` places, of which ``lanes`` share it, ``rounds`` each; with the texts of both numbers.

    ``index`` is that of its lanes; ``behind`` are those of the same label that share loops inside this one.
    """

    atom: Atom
    label: str
    size: str
    lanes: int
    rounds: int
    index: str
    behind: int = 1

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.atom.name)

    @property
    def count(self) -> str:
        """How many rounds a lane has."""
        return self.size if self.lanes == 1 else f"{factor(self.size)} // {self.lanes}"

    def place(self, whole: int) -> str:
        """Return which of its lanes is the one at hand; ``whole`` are all lanes of the label."""
        place = self.index if self.behind == 1 else f"{self.index} // {self.behind}"
        return place if self.lanes * self.behind == whole else f"({place} % {self.lanes})"


def shared_loops(atoms: Sequence[tuple[Atom, str]], lane: ProgramLane, numbers: Sequence[int]) -> list[BlockLoop]:
    """Return the loops of one dimension, outermost first, each with its text and size, that ``lane`` shares.

    Raises:
        NoSchedule: the lanes do not divide them.
    """
    found: list[BlockLoop] = []
    rest = lane.count
    for (atom, text), number in zip(atoms, numbers, strict=True):
        own = gcd(rest, number)
        rest //= own
        if rest > 1 and own < number:
            break
        found.append(BlockLoop(atom, lane.label, text, own, number // own, lane.index))
    if rest > 1 or len(found) < len(atoms):
        raise NoSchedule(f"{lane.count} lanes do not divide {prod(numbers)} blocks")
    behind = 1
    for place in reversed(range(len(found))):
        found[place] = replace(found[place], behind=behind)
        behind *= found[place].lanes
    return found
