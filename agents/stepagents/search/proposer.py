"""The search as a proposer: a task in, a verified program out, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import torch

from stepagents.judge import Judge
from stepagents.search import emit
from stepagents.search.costs import CostModel
from stepagents.search.engine import Engine
from stepagents.search.items import SearchStream
from stepagents.search.options import Counters, Features
from stepagents.search.portfolio import run_in_turns
from stepagents.search.sizes import small_sizes
from stepagents.search.space import Space
from stepagents.search.tiles import TILE_COSTS
from stepcore.findings.errors import SimError
from stepcore.graph.task import TaskFile
from stepcore.records import Record
from stepcore.sim.resized import SizedTask

# A program that turns out wrong on fresh data shows that the data of the search are poor. It goes on for so many
# programs and candidates, and then starts again on other data.
_MOST_WRONG: Final = 3
_MOST_AFTER_WRONG: Final = 200
_DATA_SETS: Final = (2, 3, 4, 4, 4)


class SearchOptions(Record):
    """Budgets and knobs. ``progress`` hears of every move's counters; it returns False to cancel.

    ``seconds`` are those of ``clock``: time that passes, as a user's budget is meant, unless another one is given.
    """

    seconds: float = 60.0
    candidates: int = 200_000
    seed: int = 0
    costs: CostModel = field(default_factory=CostModel)
    features: Features = field(default_factory=Features)
    progress: Callable[[Counters], bool] | None = None
    clock: Callable[[], float] = perf_counter


@dataclass(slots=True)
class SearchOutcome:
    """What came of a search. ``impl`` is empty unless solved; ``reason`` says why not, ``note`` what it proves not."""

    solved: bool = False
    impl: str = ""
    reason: str = ""
    candidates: int = 0
    streams: int = 0
    rejected: list[str] = field(default_factory=list)
    rounds: int = 0
    seconds: float = 0.0
    moves: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def synthesize(task: TaskFile, options: SearchOptions | None = None) -> SearchOutcome:
    """Search a program for ``task``; its own ``impl`` is not looked at.

    The program is verified strictly at the published sizes, and on further seeds and sizes. Where that fails the
    search goes on, at last on other data. The same options give the same outcome, unless the time runs out.

    Raises:
        ValueError: the file describes no task.
    """
    return _Search(task, options or SearchOptions()).run()


class _Search:
    def __init__(self, task: TaskFile, options: SearchOptions) -> None:
        if task.spec is None:
            raise ValueError(f"{task.source.path} describes no task")
        self._task = task
        self._spec = task.spec
        self._options = options
        self._outcome = SearchOutcome()
        self._start = perf_counter()
        self._began = self._options.clock()
        self._wrong = 0
        self._last_wrong = 0
        self._tried = 0
        self._spent = Counters()
        self._why = ""

    def run(self) -> SearchOutcome:
        """Search round after round, each on other data."""
        try:
            self._judge = Judge(self._task, guarded=True)
            self._rounds()
        except SimError as error:
            self._outcome.reason = f"{error.code} {error.message}"
        self._outcome.seconds = perf_counter() - self._start
        return self._outcome

    def _rounds(self) -> None:
        choices = list(small_sizes(self._spec))
        if not choices:
            self._outcome.reason = "the reference does not have the declared shapes at any sizes that were tried"
            return
        for number, sets in enumerate(_DATA_SETS):
            self._wrong = 0
            self._outcome.rounds = number + 1
            if self._round(choices[min(number, len(choices) - 1)], number, sets) or self._why:
                break
        if not self._outcome.solved:
            self._outcome.reason = self._why or "nothing is left to try"

    def _round(self, sized: SizedTask, number: int, sets: int) -> bool:
        base = 1_000_003 * (self._options.seed + 1) + 101 * number
        worlds = [sized.world(base + i) for i in range(sets)]
        space = Space.of(sized.spec, sized.bindings, self._task.dialect)

        options, counters = self._options, Counters()

        def make(costs: CostModel, adaptive: bool) -> Engine:
            features, may_go_on = options.features, self._may_go_on
            return Engine(space, worlds, costs, features, self._propose, may_go_on, options.seed, counters, adaptive)

        costs = options.costs.widened(TILE_COSTS) if space.tiles else options.costs
        solved = run_in_turns(make, costs, counters, alone=not options.features.portfolio)
        self._outcome.candidates += counters.candidates
        self._outcome.streams += counters.streams
        self._spent = Counters(self._outcome.candidates, self._outcome.streams)
        return solved

    def _propose(self, outputs: list[SearchStream]) -> bool:
        judged = self._judge.judge_program(emit.program(outputs, [port.name for port in self._spec.inputs]))
        if judged.accepted:
            self._outcome.solved, self._outcome.impl = True, judged.impl
            self._outcome.note = judged.note
            self._outcome.moves = emit.moves(outputs)
            return True
        if not judged.repeated:
            self._wrong += 1
            self._last_wrong = self._tried
            self._outcome.rejected.append(f"{judged.stage.value}: {judged.message}\n{judged.impl}")
        return False

    def _may_go_on(self, counters: Counters) -> bool:
        options, tried = self._options, self._spent.candidates + counters.candidates
        if tried >= options.candidates:
            self._why = f"the budget of {options.candidates:,} candidates is spent"
        elif options.clock() - self._began > options.seconds:
            self._why = f"the budget of {options.seconds:g} seconds is spent"
        elif options.progress is not None and not options.progress(
            Counters(tried, self._spent.streams + counters.streams, counters.programs)
        ):
            self._why = "cancelled"
        self._tried = tried
        is_poor = self._wrong >= _MOST_WRONG or (self._wrong and tried - self._last_wrong > _MOST_AFTER_WRONG)
        return not self._why and not is_poor


def use_one_thread() -> None:
    """Keep torch on one thread: at the search's sizes a second one only costs."""
    torch.set_num_threads(1)
