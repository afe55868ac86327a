"""What a program would gain from a better chip: one resource after the other is better, and it runs again.

The bottleneck is who is busiest; only another run says what becomes of the cycles when it is not. Where nothing is
saved by a resource, the program waits for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from stepcore.check.programs import Checked
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import Timed, time_program
from stepcore.timing.hardware import Hardware

_DEEP: Final = 1 << 40  # tokens; no more slots are counted than tokens pass
_BETTER: Final[Mapping[str, Callable[[Hardware], Hardware]]] = {
    "deep FIFOs, where the program says no depth": lambda chip: replace(chip, fifo=replace(chip.fifo, depth=_DEEP)),
    "memory without latency": lambda chip: replace(chip, memory=replace(chip.memory, latency=0, startup=0)),
    "twice the memory bandwidth": lambda chip: replace(
        chip, memory=replace(chip.memory, channels=2 * chip.memory.channels, dispatch=2 * chip.memory.dispatch)
    ),
    "twice the FLOPs per cycle": lambda chip: replace(
        chip, compute=replace(chip.compute, bandwidth=2 * chip.compute.bandwidth)
    ),
    "twice the on-chip bandwidth": lambda chip: replace(
        chip, onchip=replace(chip.onchip, bandwidth=2 * chip.onchip.bandwidth)
    ),
}


def what_if(checked: Checked, timed: Timed, budget: int) -> tuple[tuple[str, int], ...]:
    """Return by change the cycles that ``checked`` takes with it, the fewest first; nothing where it stopped.

    ``timed`` is its run on the chip as it is. A run that takes more than ``budget`` steps of units is left out.
    """
    found: list[tuple[str, int]] = []
    for change, better in _BETTER.items() if timed.cycles is not None else ():
        with suppress(NotTimed):
            again = time_program(checked, better(timed.hardware), timed.engine, budget)
            found += [] if again.cycles is None else [(change, again.cycles)]
    return tuple(sorted(found, key=lambda pair: pair[1]))
