"""Finding sizes at which a function runs: guess, run on shapes, read the failure, change the guess. Loads torch.

A best-first search over states: what is natural and gets further comes first. What a run overcame is a credit, so that
a chain of natural changes is followed before an unnatural one that happens to run.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from itertools import count
from time import process_time
from typing import Final

from stepagents.shapes.moves import ShapeMoves
from stepagents.shapes.outcome import RunFailure, TriedRun
from stepagents.shapes.running import SubjectRunner
from stepagents.shapes.situation import ArgumentDim
from stepagents.shapes.state import State, is_possible
from stepcore.records import Record

_MOST_RUNS: Final = 700
_SECONDS: Final = 30.0  # of processor time, for functions of which one run takes long
_CREDIT: Final = 1.6  # for a failure that was overcome
_SIZES: Final = re.compile(r"\d\d+")
_SMALL_CREDIT: Final = 0.7  # for one whose message changed at the same operation


class Solved(Record):
    """The best state, and its run; where none runs, the one that got furthest."""

    state: State
    run: TriedRun

    @property
    def is_found(self) -> bool:
        """Whether the function runs at these sizes."""
        return self.run.failure is None


def solve(
    runner: SubjectRunner,
    start: State,
    told: frozenset[str],
    examples: Mapping[str, tuple[int | None, ...]],
    alike: Sequence[tuple[ArgumentDim, ArgumentDim]] = (),
) -> Solved:
    """Return the most natural state that runs.

    Args:
        runner: runs the function.
        start: the first guess.
        told: arguments whose sizes are written somewhere; they are changed last.
        examples: sizes that calls pass.
        alike: dimensions that were equal in all calls.

    Raises:
        Refused: the function cannot be run at any sizes.
    """
    order = count()
    heap: list[tuple[float, int, State, RunFailure | None, float]] = [(start.cost, next(order), start, None, 0.0)]
    seen = {start.key}
    furthest: tuple[int, Solved] | None = None
    waiting: dict[tuple[object, ...], TriedRun] = {}
    end = process_time() + _SECONDS
    while heap and runner.runs < _MOST_RUNS and (furthest is None or process_time() < end):
        _, _, state, before, credit = heapq.heappop(heap)
        run = waiting.pop(state.key, None)
        if run is None:
            run = runner.run(state)
            earned = credit + _earned(before, run)
            priority = state.cost - earned
            if before is not None and heap and priority > heap[0][0]:
                waiting[state.key] = run
                heapq.heappush(heap, (priority, next(order), state, before, credit))
                continue
        credit += _earned(before, run)
        failure = run.failure
        if failure is None:
            return Solved(state, run)
        if furthest is None or failure.progress > furthest[0]:
            furthest = (failure.progress, Solved(state, run))
        for changed in sorted(ShapeMoves(state, failure, told, examples, alike).all(), key=lambda each: each.cost):
            if changed.key not in seen and is_possible(changed):
                seen.add(changed.key)
                hope = changed.cost - credit - _CREDIT
                heapq.heappush(heap, (hope, next(order), changed, failure, credit))
    assert furthest is not None
    return furthest[1]


def _earned(before: RunFailure | None, run: TriedRun) -> float:
    if before is None:
        return 0.0
    if run.failure is None or run.failure.progress > before.progress:
        return _CREDIT
    same = run.failure.progress == before.progress and run.failure.name == before.name
    return _SMALL_CREDIT if same and _words(run.failure.message) != _words(before.message) else 0.0


def _words(message: str) -> str:
    """Return a message without its sizes: other sizes at the same place are no progress."""
    return _SIZES.sub("", message)
