"""One program from its text to what is shown of it: search, verification of the front, the best of what is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from stepagents.executors.executor import Executor
from stepagents.experience.optimizations import OptimizationItem
from stepagents.optimize.candidates import FasterText, OptimizeTarget
from stepagents.optimize.model.asker import ModelAsker
from stepagents.optimize.model.search import ModelSearch
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.outcome import Ended, Optimized
from stepagents.optimize.pairs import RewriteChild
from stepagents.optimize.prior import RewritePrior
from stepagents.optimize.proof import Judges, TextVerdict
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import CANDIDATES, Search, SearchLimits, Unimprovable, best_of
from stepagents.optimize.trials import SpreadTrials
from stepcore.costs.metrics import compulsory_traffic
from stepcore.rewrites import RewriteSubject
from stepcore.rewrites.unused import without_unused
from stepcore.text.wording import times_text

_POINTS: Final = 16  # of the front that are verified and shown
_DISTRUSTED: Final = "the record of an earlier search had other figures than are measured now: it was searched anew"


@dataclass(frozen=True)
class Watch:
    """How its user follows a search: ``tell`` takes lines, ``seconds`` are the most (None: until the search ends).

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
    began = monotonic()

    def is_over() -> bool:
        asked = 0.0 if advice is None else advice.asker.first_wait  # its user may be reading what is to be sent
        return watch.is_stopped() or (watch.seconds is not None and monotonic() - began - asked > watch.seconds)

    empty = Optimized(subject.path, subject.name, target.chip.name, subject.text)
    first = judges.begin()
    if first.stopped:
        return replace(empty, ended="stopped", interrupted=True, problem="interrupted before it was verified as it is")
    if not first.accepted:
        return replace(empty, problem=f"it is not right as it is, so nothing can be compared with it: {first.reason}")
    items = record.memory(memory)

    def begin() -> Search:
        order: CandidateOrder[RewriteChild] = CandidateOrder(RewritePrior(items))
        spread = None if executor is None else SpreadTrials(executor, subject, target, watch.is_stopped)
        limits, tell = SearchLimits(watch.candidates, is_over), watch.found or _teller(watch.tell)
        if advice is None:
            return Search(subject, target, record, limits, tell, order=order, spread=spread)
        search = ModelSearch(
            subject, target, record, limits, tell, order=order, spread=spread, asker=advice.asker,
            goes_on=advice.goes_on, prove=lambda text: _fault(next(judges.prove([text]))), memory=order.prior.items,
        )  # fmt: skip
        search.pairs.model = advice.asker.name[:64]
        return search

    try:
        search, distrusted = _searched(begin, record)
    except Unimprovable as error:
        return replace(empty, problem=str(error), seconds=monotonic() - began)
    ended: Ended = "stopped" if watch.is_stopped() else "time" if is_over() else ""
    users = subject.text if users_text is None else users_text
    right, refused, wrong = _proved(search, judges, watch.tell, lambda text: without_unused(subject, text, users))
    if distrusted:
        refused.append(distrusted)
    if search.trials.problem:
        refused.append(f"some candidates could not be timed, the same call tries them again: {search.trials.problem}")
    best = best_of(right, target, search.old)
    learned = () if watch.is_stopped() else search.pairs.items(with_code, tuple(wrong) if refused else ())
    if best is not None and 0 < target.capacity < best.figures.on_chip:
        refused.append(
            f"it needs {best.figures.on_chip:,} bytes on chip of {target.capacity:,}: "
            "nothing that needs less and takes no more cycles was found"
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
        seconds=monotonic() - began,
        tried=search.spent,
        ended=ended,
        refused=refused,
        learned=learned,
        proposals=tuple(search.proposals.values()) if isinstance(search, ModelSearch) else (),
        interrupted=watch.is_stopped(),
        problem="" if best is not None else "nothing that runs to its end was verified",
    )


def _searched(begin: Callable[[], Search], record: SearchRecord) -> tuple[Search, str]:
    """Return a search that came to its end, and what is to be said of its record.

    One that went on from figures of the disk that are not measured now is begun anew without them.

    Raises:
        Unimprovable: the program cannot be optimized.
        LedgerError: the ledger of a model's answers cannot be used.
    """
    search = begin()
    search.run()
    if search.is_as_measured(search.archive.front[:_POINTS]):
        return search, ""
    record.forget_what_was_read()
    search = begin()
    search.run()
    return search, _DISTRUSTED


def _fault(verdict: TextVerdict) -> str:
    return "" if verdict.accepted else verdict.reason or "it was rejected"


def _teller(tell: Callable[[str], None]) -> Callable[[FasterText], None]:
    def told(candidate: FasterText) -> None:
        figures = candidate.figures
        ratio = f", {times_text(figures.cycles / figures.bound)} of the bound" if figures.bound else ""
        last = f": {candidate.steps[-1].sentence}" if candidate.steps else ""
        tell(f"{figures.cycles:,} cycles{ratio}{last}")

    return told


def _proved(
    search: Search, judges: Judges, tell: Callable[[str], None], tidied: Callable[[str], str]
) -> tuple[Sequence[FasterText], list[str], set[str]]:
    """Verify the front, the best first; return what is right, why the others are not shown, and by which rewrites.

    Where a point is wrong, what it had beaten may come back: the program as it is was right from the beginning. What
    ``tidied`` leaves of a text is what is verified and shown: nothing that runs goes, so it costs what was measured.
    """
    right: list[FasterText] = []
    refused: list[str] = []
    wrong: set[str] = set()
    waiting = list(search.archive.front)
    while waiting and len(right) < _POINTS:
        several, waiting = waiting[: _POINTS - len(right)], waiting[_POINTS - len(right) :]
        several = [each if each is search.old else replace(each, text=tidied(each.text)) for each in several]
        tell(f"verifying {len(several)} programs")
        proofs = judges.prove([each.text for each in several if each is not search.old])
        for candidate in several:
            proof = TextVerdict(True) if candidate is search.old else next(proofs)
            if proof.accepted:
                right.append(candidate)
            else:
                wrong |= {step.rewrite for step in candidate.steps}
                steps = "; ".join(step.sentence for step in candidate.steps)
                refused.append(f"{candidate.figures.cycles:,} cycles, not verified ({steps}): {proof.reason}")
    if (
        search.old is not None
        and search.old not in right
        and not any(each.figures.cycles <= search.old.figures.cycles for each in right)
    ):
        right.append(search.old)
    return right, refused, wrong
