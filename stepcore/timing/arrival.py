"""Runs whose data follow from what arrival decides: which chunk goes to which lane, what comes behind which.

A network holds what the data decide as rows of numbers, in order of time, and behind a decision that order is known
only when it was taken. So a network is made for a guessed order and run. Up to the first decision that comes out
otherwise, everything was as in the right run, that decision included; so the order that came out is right for longer
than the guess, and the next guess. Where guess and outcome are equal, the run is the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from stepcore.timing.exact import MAX_INSTRUCTIONS, Timing, TooLong, run
from stepcore.timing.network import Network

Order: TypeAlias = Mapping[int, tuple[int, ...]]  # by unit, what it decides, one after the other

MAX_GUESSES: Final = 4096


def run_arrival(
    made: Callable[[Order], Network],
    *,
    limit: int = MAX_INSTRUCTIONS,
    guesses: int = MAX_GUESSES,
    runs: Callable[..., Timing] = run,
) -> tuple[Network, Timing]:
    """Run the network of which ``made`` holds the data of an order (empty: any); return it, and its run.

    All networks of ``made`` have the same units and channels. ``runs`` is :func:`stepcore.timing.exact.run`.

    Raises:
        TooLong: more than ``limit`` instructions of units, or ``guesses`` runs, were needed.
        ValueError: a network lacks data of its own order.
    """
    guess: Order = {}
    left = limit
    for _ in range(guesses):
        network = made(guess)
        timing = runs(network, limit=left)
        left -= timing.instructions
        if timing.order == guess:
            if timing.lost:
                raise ValueError(f"{network.units[timing.lost[0]].name} has fewer numbers than tokens")
            return network, timing
        guess = timing.order
    raise TooLong(f"the order of arrival was not found in {guesses:,} runs")
