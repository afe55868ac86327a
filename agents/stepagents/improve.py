"""The adaptive self-improvement loop: sample, verify, learn from the few that were hardest to earn, sample again.

It drives any :class:`~stepagents.sampling.Sampler`. Everything that a stage brings is recorded before the next begins,
and the loop is a function of what is recorded: a run that was killed is replayed from its journal and goes on where it
stopped, and nothing is sampled twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from threading import Event
from typing import Protocol, TypeAlias

from stepagents.experience.identity import task_key
from stepagents.experience.strata import Selection, selections
from stepagents.llm.faults import FATAL, Fault
from stepagents.sampling import Order, Sampled, Sampler
from stepcore.jobdata.writing import Experience
from stepcore.records import Record


class Ended(StrEnum):
    """Why a run is over. After the first two there is nothing left to go on with."""

    SOLVED = "nothing is left to solve"
    NOTHING_NEW = "all experience was used and nothing new was solved"
    ROUNDS = "the rounds are used up"
    BUDGET = "the budget is spent"
    REFUSED = "the endpoint answers no more"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        """Whether going on would change nothing."""
        return self in {Ended.SOLVED, Ended.NOTHING_NEW}


class LoopOptions(Record):
    """Parameters of the loop.

    ``granularity`` is the number of strata, ``rounds`` how often the strata are gone through at most (a round ends when
    something new was solved). ``most_answers``, ``most_cost`` (US dollars) and ``most_tokens`` bound the whole run.
    """

    granularity: int = 3
    selection: Selection = Selection.ADAPTIVE
    rounds: int = 20
    most_answers: float = inf
    most_cost: float = inf
    most_tokens: float = inf


@dataclass(slots=True)
class Standing:
    """How one task stands: what was spent on it so far, and the experience that it gave (None: unsolved)."""

    order: Order
    key: str
    stages: int = 0
    answers: int = 0
    accepted: int = 0
    tokens: int = 0
    cost: float = 0.0
    cost_known: bool = True
    seconds: float = 0.0
    reason: str = ""
    problem: str = ""
    earned: Experience | None = None

    @property
    def is_open(self) -> bool:
        """Whether the task is still to be solved, and can be tried at all."""
        return self.earned is None and not self.problem


class StageBegun(Record):
    """A stage of a round begins: which tasks are sampled with which demonstrations."""

    round: int
    stage: int
    stages: int
    tasks: int
    demonstrations: tuple[Experience, ...]


class TaskSampled(Record):
    """One task was sampled; ``replayed`` tells that the result is from the journal, ``partial`` that it was stopped."""

    standing: Standing
    sampled: Sampled
    replayed: bool
    partial: bool


LoopEvent: TypeAlias = StageBegun | TaskSampled


class Results(Protocol):
    """Where results are kept; see :class:`stepagents.experience.journal.Journal`."""

    def record(self, step: int, key: str, sampled: Sampled, complete: bool) -> None:
        """Keep one result."""

    def results(self, step: int) -> dict[str, Sampled]:
        """Return the complete results of a step by task key."""


@dataclass(slots=True)
class InMemory:
    """Results that are gone when the process ends."""

    steps: dict[int, dict[str, Sampled]] = field(default_factory=dict)

    def record(self, step: int, key: str, sampled: Sampled, complete: bool) -> None:
        """Keep a complete result."""
        if complete:
            self.steps.setdefault(step, {})[key] = sampled

    def results(self, step: int) -> dict[str, Sampled]:
        """Return the complete results of a step by task key."""
        return dict(self.steps.get(step, {}))


class Improvement:
    """One run of the loop over ``orders``.

    ``demonstrations`` are what is known at the beginning; ``earned`` hears of each new experience at once, also of
    those that a replay finds again. Iterate over :meth:`run`; afterwards ``ended`` says why it is over, and
    ``standings`` how every task stands. Setting ``stop`` ends the run soon and keeps what was earned; it is also set
    where the budget is spent.
    """

    def __init__(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience],
        sampler: Sampler,
        options: LoopOptions | None = None,
        results: Results | None = None,
        earned: Callable[[Experience, Order], object] = lambda _experience, _order: None,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        keys = [task_key(order.text) for order in orders]
        distinct = dict(zip(reversed(keys), reversed(orders), strict=True))  # of equal tasks the first
        self.standings = [Standing(distinct[key], key) for key in dict.fromkeys(keys)]
        self.demonstrations = list(demonstrations)
        self.ended: Ended | None = None
        self._sampler = sampler
        self._options = options or LoopOptions()
        self._results = results or InMemory()
        self._earned = earned
        self._tell = tell
        self._stop = stop or Event()
        self._halted = Ended.INTERRUPTED  # why, once `_stop` is set
        self._step = 0

    def run(self) -> Iterator[LoopEvent]:
        """Run the loop; yields what happens."""
        for number in range(self._options.rounds):
            yield from self._round(number)
            if self.ended is not None:
                return
        self.ended = Ended.ROUNDS if self._open else Ended.SOLVED

    @property
    def _open(self) -> list[Standing]:
        return [standing for standing in self.standings if standing.is_open]

    def _round(self, number: int) -> Iterator[LoopEvent]:
        """Go through the strata until something new is solved; sets ``ended`` if nothing is, or nothing is left."""
        chosen = selections(self.demonstrations, self._options.granularity, self._options.selection)
        for index, demonstrations in enumerate(chosen):
            if not self._open:
                self.ended = Ended.SOLVED
                return
            tasks = self._open
            yield StageBegun(number, index, len(chosen), len(tasks), tuple(demonstrations))
            yield from self._stage(tasks, demonstrations)
            if self.ended is not None:
                return
            new = [standing.earned for standing in tasks if standing.earned is not None]
            self.demonstrations += new
            if new:
                return
        self.ended = Ended.NOTHING_NEW

    def _stage(self, tasks: Sequence[Standing], demonstrations: Sequence[Experience]) -> Iterator[LoopEvent]:
        """Sample ``tasks`` once, as far as the journal has no results; sets ``ended`` if it was stopped."""
        step, self._step = self._step, self._step + 1
        known = self._results.results(step)
        for standing in tasks:
            if standing.key in known:
                yield self._count(standing, known[standing.key], replayed=True, partial=False)
        left = [standing for standing in tasks if standing.key not in known]
        if left and not self._is_over():
            yield from self._sample(left, demonstrations, step)
            known = self._results.results(step)
            left = [standing for standing in left if standing.is_open and standing.key not in known]
        if left:
            self.ended = self._halted

    def _sample(
        self, tasks: Sequence[Standing], demonstrations: Sequence[Experience], step: int
    ) -> Iterator[LoopEvent]:
        by_path = {standing.order.path: standing for standing in tasks}
        orders = [replace(standing.order, seed=standing.order.seed + step) for standing in tasks]
        for sampled in self._sampler.sample(orders, demonstrations, stop=self._stop, tell=self._tell):
            standing = by_path[sampled.path]
            self._look_for_the_end(sampled)
            partial = self._stop.is_set() and not sampled.solved and not sampled.problem
            # What kept a task from being tried may be over when the run is taken up again.
            self._results.record(step, standing.key, sampled, complete=not partial and not sampled.problem)
            yield self._count(standing, sampled, replayed=False, partial=partial)
            self._is_over()

    def _look_for_the_end(self, sampled: Sampled) -> None:
        """End the run where a model can be asked no more: its budget is spent, or it refuses us."""
        fatal = FATAL.intersection(sampled.outcomes)
        if fatal and not sampled.solved:
            self._halt(Ended.BUDGET if Fault.BUDGET in fatal else Ended.REFUSED)

    def _halt(self, why: Ended) -> None:
        if not self._stop.is_set():
            self._halted = why
            self._stop.set()

    def _count(self, standing: Standing, sampled: Sampled, *, replayed: bool, partial: bool) -> TaskSampled:
        """Add a result to how the task stands."""
        standing.stages += 1
        standing.answers += sampled.answers
        standing.accepted += sampled.accepted
        standing.tokens += sampled.input_tokens + sampled.output_tokens
        standing.cost += sampled.cost
        standing.cost_known &= sampled.cost_known
        standing.seconds += sampled.seconds
        standing.reason, standing.problem = sampled.reason, sampled.problem
        if sampled.solved:
            standing.earned = _experience(standing, sampled)
            self._earned(standing.earned, standing.order)
        return TaskSampled(standing, sampled, replayed, partial)

    def _is_over(self) -> bool:
        """Return whether the run has to stop: it was asked to, or its budget is spent (which stops the sampler)."""
        options, all_of = self._options, self.standings
        if not self._stop.is_set() and (
            sum(standing.answers for standing in all_of) >= options.most_answers
            or sum(standing.cost for standing in all_of) >= options.most_cost
            or sum(standing.tokens for standing in all_of) >= options.most_tokens
        ):
            self._halt(Ended.BUDGET)
        return self._stop.is_set()


def _experience(standing: Standing, sampled: Sampled) -> Experience:
    """Return the shortest program, with what all stages together spent on it."""
    return Experience(
        standing.order.task,
        standing.order.text,
        min(sampled.solutions, key=len),
        sampled.proposer,
        standing.accepted / max(standing.answers, standing.accepted, 1),
        standing.tokens,
        standing.cost,
        standing.seconds,
    )
