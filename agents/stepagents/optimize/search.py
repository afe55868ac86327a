"""The search for faster programs: beams of programs, all rewrites of each, cheap estimates first.

Any-time and deterministic: the same program, target, limits and memory give the same steps, and whenever it is stopped
the best so far is there. Every limit counts work; time is looked at only where its user gave some.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeVar

from stepagents.optimize.archive import Archive
from stepagents.optimize.candidates import (
    FasterText,
    Goal,
    OptimizeStep,
    OptimizeTarget,
    figures_of,
    key_of,
    timed_subject,
)
from stepagents.optimize.features import change_of
from stepagents.optimize.opening import OpenPrograms
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.pairs import RewriteChild, RewritePairs
from stepagents.optimize.record import SearchRecord, Tried
from stepagents.optimize.trials import CandidateTrials, LookedAt, Lost, Trial, Trier
from stepcore.findings.diagnostics import apply_edits
from stepcore.jobdata.optimizing import Figures
from stepcore.jobs import JobCancelled
from stepcore.rewrites import REWRITES, Rewrite, RewriteSubject, applied
from stepcore.rewrites.depths import Depths

CANDIDATES: Final = 1500
_BEAM: Final = 4  # programs that are rewritten further
_EXACT: Final = 12  # programs of a round that are timed exactly: those with the best estimates
_ROUNDS: Final = 16
_PATIENCE: Final = 2  # rounds that bring nothing
_SLACK: Final = 1.1  # an estimate may be wrong by so much
_STALE: Final = 80  # candidates without a better one, where memory guides
_FRONT: Final = 8  # programs of the front that are rewritten further in a round
_T = TypeVar("_T")
_SLOWER: Final = 1.5  # so many times the cycles of the old program the front reaches, where that is the goal


@dataclass(frozen=True)
class SearchLimits:
    """Limits of a search: ``candidates`` are texts that are tried. ``is_over`` says when its user wants an end."""

    candidates: int = CANDIDATES
    is_over: Callable[[], bool] = lambda: False


class Unimprovable(Exception):
    """A program that cannot be optimized: it has no figures to begin with. The message says why."""


@dataclass
class Search:
    """One search. ``old`` is the program as it is, None where it stops; ``tell`` hears of each better candidate."""

    first: RewriteSubject
    target: OptimizeTarget
    record: SearchRecord
    limits: SearchLimits = field(default_factory=SearchLimits)
    tell: Callable[[FasterText], None] = lambda _candidate: None
    rewrites: Sequence[Rewrite] = REWRITES
    order: CandidateOrder[RewriteChild] = field(default_factory=CandidateOrder)
    spread: CandidateTrials | None = None  # who works out what candidates cost: this process where nobody else does
    trials: CandidateTrials = field(init=False)
    pairs: RewritePairs = field(default_factory=RewritePairs, init=False)
    archive: Archive = field(default_factory=Archive, init=False)
    seen: set[str] = field(default_factory=set, init=False)
    expanded: set[str] = field(default_factory=set, init=False)
    costs: set[Figures] = field(default_factory=set, init=False)  # of programs that were rewritten further
    spent: int = field(default=0, init=False)
    old: FasterText | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._here = Trier.of(self.first, self.target)
        self.trials = self.spread or self._here

    def run(self) -> None:
        """Search to the end, or until its user has enough; what was found is in the archive.

        Raises:
            Unimprovable: the program cannot be timed, or stops whatever its FIFOs hold.
        """
        first = self._begin()
        try:
            if self.order.prior and self.target.goal is Goal.CYCLES:
                self._search(self._search_best_first(first))
                self.seen, self.expanded = {first.key}, set()
            self._search([first])
        except JobCancelled:  # its user did not wait for the workers
            if not self.limits.is_over():
                raise
        finally:
            self.trials.cancel()

    def _search(self, beam: list[FasterText]) -> None:
        """Search round by round, until two of them bring nothing beside what this search had before."""
        reached = Archive()
        self._brings(beam, reached)
        patience, rounds = _PATIENCE, _ROUNDS
        found: list[FasterText] = []
        while beam and patience and rounds and not self._is_over():
            self._open(beam)
            is_better, beam = False, []
            while not is_better and (children := self.order.take()) and not self._is_over():
                timed = self._round(children)
                self._keep(timed)
                is_better = self._brings(timed, reached)
                found += timed
            patience, rounds = _PATIENCE if is_better else patience - 1, rounds - (not self.order.waiting)
            beam, found = self._chosen(found), []

    def _search_best_first(self, first: FasterText) -> list[FasterText]:
        """Try a few candidates at a time, those of which memory expects most, as long as that brings something.

        Returns the programs from which a search without memory goes on: the best of several niches, and the best
        that were not rewritten. Then everything is searched as without memory, and what was tried counts no more: what
        memory knows may be of no use here, and nothing is to be worse for it.
        """
        found, programs, last = [first], OpenPrograms(), self.spent
        beam = [first]
        while (beam or self.order.waiting) and self.spent - last < _STALE and not self._is_over():
            self._open(beam)
            before, timed = self.best, self._round(self.order.take())
            self._keep(timed)
            last = last if self.best is before else self.spent
            found += timed
            programs.add(timed)
            beam = programs.take(at_least_one=not self.order.waiting)
        self.seen -= {child.key for child in self.order.waiting}
        self.order = CandidateOrder()
        closed = (each for each in found if each.key not in self.expanded)
        alike = _fastest(found, lambda each: each.niche), _fastest(closed, lambda each: each.figures)
        return list({each.key: each for each in chain(*alike)}.values())

    def _open(self, beam: Sequence[FasterText]) -> None:
        """Put what rewrites make of programs to the candidates that wait."""
        self._look_at(beam)
        for parent in (each for each in beam if self._known(each) is not None):
            self.order.add(list(self._children(parent)))

    def _keep(self, found: Sequence[FasterText]) -> None:
        """Put candidates on the front, and tell of those that are the best so far."""
        for candidate in found:
            if self.archive.add(candidate) and candidate is self.best:
                self.tell(candidate)

    def _brings(self, found: Sequence[FasterText], reached: Archive) -> bool:
        """Put candidates to what was ``reached``; return whether that brought what is looked for."""
        before = self._best_of(reached), reached.front
        for candidate in found:
            reached.add(candidate)
        wanted = slice(1) if self.target.goal is not Goal.FRONT else slice(2)
        return (self._best_of(reached), reached.front)[wanted] != before[wanted]

    def _best_of(self, archive: Archive) -> FasterText | None:
        return best_of(archive.front, self.target, self.old)

    @property
    def best(self) -> FasterText | None:
        """The best so far for the goal of the search."""
        return self._best_of(self.archive)

    def _begin(self) -> FasterText:
        """Return the program as it is; where it stops, with the depths that cure it."""
        subject = self._here.timed(self.first.text)
        if subject is None or subject.timed is None:
            raise Unimprovable("it cannot be timed on this chip")
        self.seen.add(key_of(subject.text))
        figures = figures_of(subject.timed, self.target)
        if figures is not None:
            self.old = FasterText(subject.text, figures)
            self.archive.add(self.old)
            return self.old
        if subject.timed.cycles is not None:
            raise Unimprovable("nobody knows how much memory on chip it needs")
        for site in Depths().sites(subject):
            cured = applied(subject, site)
            again = None if cured is None else timed_subject(cured, self.target)
            figures = None if again is None or again.timed is None else figures_of(again.timed, self.target)
            if again is not None and figures is not None:
                step = OptimizeStep(site.rewrite, site.sentence, None, figures)
                start = FasterText(again.text, figures, (step,))
                self.archive.add(start)
                return start
        raise Unimprovable(f"it stops, and {self.first.unwritable or 'no depth of its FIFOs cures it'}")

    def _is_over(self) -> bool:
        return self.spent >= self.limits.candidates or self.limits.is_over()

    # One round ----------------------------------------------------------------------------------------------------

    def _round(self, children: Sequence[RewriteChild]) -> list[FasterText]:
        """Return those of the candidates that were timed exactly, those first that promise most."""
        estimated: list[tuple[int, int, RewriteChild]] = []
        for child, cycles in self._until_over(self._estimates(list(self._allowed(children)))):
            self.spent += child.key not in self.pairs.found
            self.pairs.note(child, cycles)
            self.order.prior.learn(child.bottleneck, child.change, child.place, child.cycles_before, cycles)
            if cycles is not None and not self._is_slow(cycles):
                estimated.append((cycles, len(estimated), child))
        estimated.sort(key=lambda item: item[:2])
        most = len(estimated) if self.target.goal is Goal.FRONT else _EXACT  # a slow one may need little memory
        promising = [child for _cycles, _number, child in estimated[:most]]
        found = (self._timed(child, figures) for child, figures in self._until_over(self._figures(promising)))
        return [candidate for candidate in found if candidate is not None]

    def _allowed(self, children: Iterable[RewriteChild]) -> Iterator[RewriteChild]:
        """Yield candidates as long as there may be more; what was tried before counts no more."""
        left = self.limits.candidates - self.spent
        for child in children:
            left -= child.key not in self.pairs.found
            if left < 0:
                return
            yield child

    def _until_over(self, answers: Iterable[_T]) -> Iterator[_T]:
        """Yield answers until somebody wants an end, the first one in any case unless a worker would be waited for."""
        try:
            for answer in answers:
                yield answer
                if self.limits.is_over():
                    return
        except JobCancelled:
            if not self.limits.is_over():
                raise

    def _is_slow(self, cycles: int) -> bool:
        """Whether an estimate is well beyond the cycles of the old program: nothing slower is ever shown."""
        return self.old is not None and cycles > _SLACK * self._slowest(self.old)

    def _slowest(self, old: FasterText) -> float:
        return old.figures.cycles * (_SLOWER if self.target.goal is Goal.FRONT else 1)

    def _look_at(self, beam: Sequence[FasterText]) -> None:
        """Have the record know all sites in the programs of a beam, and what holds them up, where somebody can tell."""
        unknown = [parent for parent in beam if self._known(parent) is None]
        looked = self.trials.look([each.text for each in unknown], self.rewrites)
        for parent, found in zip(unknown, looked, strict=True):
            if isinstance(found, Lost):
                continue
            for rewrite, sites in zip(self.rewrites, found.sites, strict=True):
                self.record.keep_sites(parent.key, rewrite.name, sites)
            self.record.keep_bottleneck(parent.key, found.bottleneck)

    def _children(self, parent: FasterText) -> Iterator[RewriteChild]:
        """Yield what rewrites make of a program that was looked at, as far as that is new."""
        self.expanded.add(parent.key)
        known = self._known(parent)
        if known is None:
            raise ValueError("this program was not looked at")
        for site in chain.from_iterable(known.sites):
            text = apply_edits(parent.text, list(site.edits))
            key = key_of(text)
            if key not in self.seen:
                self.seen.add(key)
                yield RewriteChild(parent, site, text, key, known.bottleneck, change_of(site))

    def _known(self, parent: FasterText) -> LookedAt | None:
        sites = [self.record.sites(parent.key, rewrite.name) for rewrite in self.rewrites]
        known = [each for each in sites if each is not None]
        bottleneck = self.record.bottleneck(parent.key)
        return None if bottleneck is None or len(known) < len(sites) else LookedAt(known, bottleneck)

    def _estimates(self, children: Sequence[RewriteChild]) -> Iterator[tuple[RewriteChild, int | None]]:
        """Yield children with about how many cycles they take; what is not known is asked for, all of it at once.

        Of a lost answer nothing is kept: the same search asks again when it is begun again.
        """
        answers = self.trials.estimates([child.trial for child in children if self.record.tried(child.key) is None])
        for child in children:
            tried = self.record.tried(child.key)
            if tried is None:
                answer = next(answers)
                if isinstance(answer, Lost):
                    continue
                tried = Tried(answer)
                self.record.keep(child.key, tried)
            yield child, tried.estimate

    def _figures(self, children: Sequence[RewriteChild]) -> Iterator[tuple[RewriteChild, Figures | None]]:
        """Yield children with their exact figures; None for one that stops, or cannot be timed."""
        before = [self.record.tried(child.key) or Tried(None) for child in children]
        unknown = [child.trial for child, tried in zip(children, before, strict=True) if not tried.exact]
        answers = self.trials.figures(unknown)
        for child, tried in zip(children, before, strict=True):
            known = tried
            if not tried.exact:
                answer = next(answers)
                if isinstance(answer, Lost):
                    continue
                known = Tried(tried.estimate, True, answer)
                self.record.keep(child.key, known)
            yield child, known.figures

    def cost_of(self, text: str) -> Figures | None:
        """Return what the program costs as a text has it; None where it stops, or takes and gives something else."""
        return next(self._here.figures([Trial(self.first.text, text, True)]))

    def is_as_measured(self, candidates: Sequence[FasterText]) -> bool:
        """Return whether candidates cost what they are said to; those whose figures the record had from the disk are
        timed again.
        """
        read_back = (each for each in candidates if self.record.is_read_back(each.key))
        return all(self._here.measured(each.text) == each.figures for each in read_back)

    def _timed(self, child: RewriteChild, figures: Figures | None) -> FasterText | None:
        """Return a child that was timed; None where it stops, or takes more than there is."""
        self.pairs.note(child, None if figures is None else figures.cycles)
        if figures is None or not self._fits(figures):
            return None
        parent = child.parent
        step = OptimizeStep(child.site.rewrite, child.site.sentence, parent.figures, figures)
        return FasterText(child.text, figures, (*parent.steps, step))

    def _fits(self, figures: Figures) -> bool:
        """Whether the chip has what a program takes, or the old program took as much."""
        old = None if self.old is None else self.old.figures
        compute = max(self.target.compute, 0 if old is None else old.computing)
        capacity = self.target.capacity
        on_chip = max(capacity, 0 if old is None else old.on_chip) if capacity else figures.on_chip
        cycles = figures.cycles if self.old is None else self._slowest(self.old)
        return figures.computing <= compute and figures.on_chip <= on_chip and figures.cycles <= cycles

    def _chosen(self, found: Sequence[FasterText]) -> list[FasterText]:
        """Return the candidates that are rewritten further: those that serve the goal best, and some of the front."""
        if self.target.goal is Goal.FRONT:
            return self._open_points()
        by_cycles = sorted(found, key=lambda each: each.cost)
        by_memory = sorted(found, key=_by_memory)
        first, second = (by_memory, by_cycles) if self.target.goal is Goal.MEMORY else (by_cycles, by_memory)
        share = _BEAM // 2 if self.target.goal is Goal.MEMORY else 1
        chosen = [*first[: _BEAM - share], *second[:share]]
        several = {each.key: each for each in chosen}.values()
        return self._unlike(several) if self.order.prior else list(several)

    def _unlike(self, candidates: Iterable[FasterText]) -> list[FasterText]:
        """Return candidates without those that cost what another cost: one change at two places that are alike."""
        unlike = []
        for each in candidates:
            if each.figures not in self.costs:
                self.costs.add(each.figures)
                unlike.append(each)
        return unlike

    def _open_points(self) -> list[FasterText]:
        """Return points of the front that were not rewritten yet, from all along it."""
        points = [each for each in self.archive.front if each.key not in self.expanded]
        step = max(len(points) / _FRONT, 1)
        return [points[int(number * step)] for number in range(min(len(points), _FRONT))]


def best_of(front: Sequence[FasterText], target: OptimizeTarget, old: FasterText | None) -> FasterText | None:
    """Return the candidate of a front that a goal means; one that the chip holds comes before one that it does not.

    For memory it is the one with the fewest bytes on chip that takes no more cycles than the old program.
    """
    allowed = [each for each in front if old is None or each.figures.cycles <= old.figures.cycles]
    fitting = [each for each in allowed if not target.capacity or each.figures.on_chip <= target.capacity] or allowed
    if not fitting:
        return None
    if target.goal is Goal.MEMORY:
        return min(fitting, key=_by_memory)
    return min(fitting, key=lambda each: each.cost)


def _by_memory(candidate: FasterText) -> tuple[int, int]:
    return candidate.cost[::-1]


def _fastest(candidates: Iterable[FasterText], kind: Callable[[FasterText], Hashable]) -> list[FasterText]:
    """Return the best candidates, one of each kind."""
    several: dict[Hashable, FasterText] = {}
    for each in sorted(candidates, key=lambda each: each.cost):
        several.setdefault(kind(each), each)
    return list(several.values())[:_BEAM]
