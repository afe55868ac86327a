"""The least cycles that any program for the same results takes, so that one knows how far a program is from it.

Each input and output moves once, at the memory's peak, and all FLOPs are computed by the units of the whole chip. Of
what the data choose (tiles at addresses, weights of an expert without rows) less may have to move: a program that moves
less is held against that. The second bound takes the FLOPs of the program; what another algorithm saves is not seen.
Of products that do not fit on chip more has to move (Hong and Kung, 1981); that is not counted here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepcore.costs.metrics import compulsory_traffic
from stepcore.cycles.timed import Timed
from stepcore.text.wording import times_text
from stepcore.timing.hardware import OffChip

COMPUTE: Final = 65_536  # FLOPs per cycle of all units of a chip together: 16 of 4,096


@dataclass(frozen=True, slots=True)
class CycleBound:
    """``cycles`` are the least; ``rules`` says what they follow from; ``ratio`` how many times as many are taken.

    ``ratio`` is None where the program stopped.
    """

    cycles: int
    rules: str
    ratio: float | None


def bound_of(timed: Timed, total: int = COMPUTE) -> CycleBound | None:
    """Return the bound for a timed program; None where nobody knows how much has to move.

    ``total`` are the FLOPs per cycle of all units of the chip together.
    """
    compulsory = compulsory_traffic(timed.spec, timed.graph, timed.spec.bindings()).value
    if compulsory is None:
        return None
    chip = timed.hardware.memory
    needed = min(compulsory, timed.off_chip_bytes)
    traffic = cycles_of_traffic(needed, chip)
    compute = -(-timed.flops // total)
    cycles, rules = max((traffic, "off-chip bandwidth"), (compute, "compute"))
    ratio = None if timed.cycles is None else timed.cycles / max(cycles, 1)
    return CycleBound(max(cycles, 1), rules, ratio)


def cycles_of_traffic(needed: int, memory: OffChip) -> int:
    """Return the least cycles in which so many bytes move, at the peak of a memory."""
    return -(-needed * memory.interval // (memory.channels * memory.burst))


def shown(bound: CycleBound | None) -> str:
    """Return how far a program is from its bound, in words; nothing where it is not known."""
    if bound is None or bound.ratio is None:
        return ""
    return f"{times_text(bound.ratio)} of the bound ({bound.rules})"
