"""One program from its text to what is shown of it: search, verification of the front, the best of what is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepagents.executors.executor import Executor
from stepagents.experience.optimizations import OptimizationItem
from stepagents.optimize.candidates import FasterText, OptimizeTarget
from stepagents.optimize.clock import SearchClock
from stepagents.optimize.model.asker import ModelAsker
from stepagents.optimize.model.search import ModelSearch
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.outcome import Ended, Optimized
from stepagents.optimize.pairs import RewriteChild
from stepagents.optimize.prior import RewritePrior
from stepagents.optimize.proof import Judges
from stepagents.optimize.proved import POINTS, ProvedFront, proved_front
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import CANDIDATES, Search, SearchLimits, Unimprovable, best_of
from stepagents.optimize.trials import SpreadTrials
from stepcore.costs.metrics import compulsory_traffic
from stepcore.rewrites import RewriteSubject
from stepcore.rewrites.unused import tidied
from stepcore.text.wording import counted, times_text

_DISTRUSTED: Final = "the record of an earlier search had other figures than are measured now: it was searched anew"


@dataclass(frozen=True)
class Watch:
    """How its user follows a search: ``tell`` takes lines, ``seconds`` are for search and verification (None: any).

    ``candidates`` are the most texts that are tried. ``found`` gets each candidate that is the best so far, before it
    is verified; otherwise ``tell`` has a line of it.
    """

    tell: Callable[[str], None]
    is_stopped: Callable[[], bool]
    seconds: float | None = None
    found: Callable[[FasterText], None] | None = None
    candidates: int = CANDIDATES


@dataclass(frozen=True)
class ModelAdvice:
    """A model that proposes candidates; ``goes_on``: from where the search without one ended."""

    asker: ModelAsker
    goes_on: bool = False


def optimized(
    subject: RewriteSubject,
    target: OptimizeTarget,
    record: SearchRecord,
    judges: Judges,
    watch: Watch,
    memory: Sequence[OptimizationItem] = (),
    *,
    with_code: bool = False,
    executor: Executor | None = None,
    advice: ModelAdvice | None = None,
    users_text: str | None = None,
) -> Optimized:
    """Search for faster texts of a program, and verify those on the front; what did not verify is never the best.

    ``memory`` orders the candidates. Of a search that came to its end there are items to be remembered, ``with_code``
    with the segments of the text that changed. ``executor`` has workers of :mod:`stepagents.optimize.worker`, which
    time candidates; without one this process does. ``advice``: a model proposes candidates. ``users_text`` is the text
    that its user wrote, where rewrites made that of ``subject`` from it: functions of rewrites go once they are unused.

    Raises:
        LedgerError: the ledger of a model's answers cannot be used.
    """
    clock = SearchClock(watch.seconds, lambda: 0.0 if advice is None else advice.asker.first_wait)
    judges.is_late = clock.is_late
    empty = Optimized(subject.path, subject.name, target.chip.name, subject.text)
    first = judges.begin()
    if first.ended:
        more = "; give it more" if first.ended == "time" else ""
        problem = f"{first.reason} before it was verified as it is{more}"
        return replace(empty, ended=first.ended, interrupted=first.ended == "stopped", problem=problem)
    if not first.accepted:
        why = "could not be verified" if first.failed else "is not right"
        return replace(empty, problem=f"it {why} as it is, so nothing can be compared with it: {first.reason}")
    clock.keep_for_verification(clock.passed)
    order = _SearchOrder(subject, target, record, judges, watch, clock, record.memory(memory), executor, advice)
    try:
        search, remark = _searched(order.search, record)
    except Unimprovable as error:
        return replace(empty, problem=str(error), seconds=clock.passed)
    late = order.is_over()
    users = subject.text if users_text is None else users_text
    front = proved_front(search, judges, watch.tell, lambda text: tidied(subject, text, users))
    ended: Ended = "stopped" if watch.is_stopped() else front.ended or ("time" if late else "")
    learned = () if front.ended or watch.is_stopped() else search.pairs.items(with_code, tuple(front.wrong))
    found = replace(_concluded(empty, search, front), ended=ended, interrupted=watch.is_stopped(), learned=learned)
    return replace(found, refused=[*filter(None, [remark]), *found.refused], seconds=clock.passed)


@dataclass(frozen=True)
class _SearchOrder:
    """All that a search is made of; it may have to be begun twice."""

    subject: RewriteSubject
    target: OptimizeTarget
    record: SearchRecord
    judges: Judges
    watch: Watch
    clock: SearchClock
    items: Sequence[OptimizationItem]
    executor: Executor | None
    advice: ModelAdvice | None

    def is_over(self) -> bool:
        """Whether the search is to end with what it has.

        However little time there is, it times something new first: else the same call, begun again, would go on for
        ever without getting any further. A model is not waited for beyond the time.
        """
        if self.watch.is_stopped():
            return True
        return self.clock.is_search_over() and (self.record.has_news or self.advice is not None)

    def search(self) -> Search:
        """Return the search, not begun."""
        subject, target, record, watch = self.subject, self.target, self.record, self.watch
        order: CandidateOrder[RewriteChild] = CandidateOrder(RewritePrior(self.items))
        spread = None if self.executor is None else SpreadTrials(self.executor, subject, target, self.is_over)
        limits, tell = SearchLimits(watch.candidates, self.is_over), watch.found or _teller(watch.tell)
        if self.advice is None:
            return Search(subject, target, record, limits, tell, order=order, spread=spread)
        search = ModelSearch(
            subject, target, record, limits, tell, order=order, spread=spread, asker=self.advice.asker,
            goes_on=self.advice.goes_on, prove=self._fault, memory=order.prior.items,
        )  # fmt: skip
        search.pairs.model = self.advice.asker.name[:64]
        return search

    def _fault(self, text: str) -> str:
        """Return why a text is not right, "" where it is."""
        verdict = next(self.judges.prove([text]))
        return "" if verdict.accepted else verdict.reason or "it was rejected"


def _searched(begin: Callable[[], Search], record: SearchRecord) -> tuple[Search, str]:
    """Return a search that came to its end, and what is to be said of its record.

    One that went on from figures of the disk that are not measured now is begun anew without them.

    Raises:
        Unimprovable: the program cannot be optimized.
        LedgerError: the ledger of a model's answers cannot be used.
    """
    search = begin()
    search.run()
    if search.is_as_measured(search.archive.front[:POINTS]):
        return search, ""
    record.forget_what_was_read()
    search = begin()
    search.run()
    return search, _DISTRUSTED


def _concluded(empty: Optimized, search: Search, front: ProvedFront) -> Optimized:
    """Return what is told of a search whose front was verified."""
    target, right, subject = search.target, front.right, search.first
    best = best_of(right, target, search.old)
    refused = list(front.refused)
    if front.unknown:
        several = counted(front.unknown, "program")
        refused.append(f"{several} of the front could not be verified before the end: the same call goes on")
    if search.trials.problem:
        refused.append(f"some candidates could not be timed, the same call tries them again: {search.trials.problem}")
    if best is not None and 0 < target.capacity < best.figures.on_chip:
        refused.append(
            f"it needs {best.figures.on_chip:,} bytes on chip of {target.capacity:,}: "
            "nothing that needs less and takes no more cycles was found"
        )
    if best is not None and best.figures.computing > target.compute:
        refused.append(
            f"its units compute {best.figures.computing:,} FLOPs a cycle together, of {target.compute:,}: the bound is "
            "that of programs that compute no more, and nothing that does and takes no more cycles was found"
        )
    bounds = [each.figures for each in right if each.figures.bound is not None]
    least = min(bounds, key=lambda each: each.bound or 0, default=None)
    spec = subject.checked.spec
    return replace(
        empty,
        old=None if search.old is None else search.old.figures,
        best=best,
        front=right,
        bound=None if least is None else least.bound,
        bound_by="" if least is None else least.bound_by,
        compulsory=compulsory_traffic(spec, subject.graph, spec.bindings()).value,
        tried=search.spent,
        refused=refused,
        proposals=tuple(search.proposals.values()) if isinstance(search, ModelSearch) else (),
        problem="" if best is not None else "nothing that runs to its end was verified",
    )


def _teller(tell: Callable[[str], None]) -> Callable[[FasterText], None]:
    def told(candidate: FasterText) -> None:
        figures = candidate.figures
        ratio = f", {times_text(figures.cycles / figures.bound)} of the bound" if figures.bound else ""
        last = f": {candidate.steps[-1].sentence}" if candidate.steps else ""
        tell(f"{figures.cycles:,} cycles{ratio}{last}")

    return told
