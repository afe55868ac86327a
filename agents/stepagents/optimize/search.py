"""The search for faster programs: beams of programs, all rewrites of each, cheap estimates first.

Any-time and deterministic: the same program, target, limits and memory give the same steps, and whenever it is stopped
the best so far is there. Every limit counts work; time is looked at only where its user gave some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepagents.experience.optimizations import Bottleneck
from stepagents.optimize.archive import Archive
from stepagents.optimize.candidates import (
    FasterText,
    Figures,
    Goal,
    OptimizeStep,
    OptimizeTarget,
    estimate,
    figures_of,
    key_of,
    read_again,
    timed_subject,
)
from stepagents.optimize.features import bottleneck_of, change_of
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.pairs import RewriteChild, RewritePairs
from stepagents.optimize.record import SearchRecord, Tried
from stepcore.findings.diagnostics import apply_edits
from stepcore.rewrites import REWRITES, Rewrite, RewriteSite, RewriteSubject, applied
from stepcore.rewrites.depths import Depths

_BEAM: Final = 4  # programs that are rewritten further
_EXACT: Final = 12  # programs of a round that are timed exactly: those with the best estimates
_ROUNDS: Final = 16
_PATIENCE: Final = 2  # rounds that bring nothing
_SLACK: Final = 1.1  # an estimate may be wrong by so much
_FRONT: Final = 8  # programs of the front that are rewritten further in a round
_SLOWER: Final = 1.5  # so many times the cycles of the old program the front reaches, where that is the goal


@dataclass(frozen=True)
class SearchLimits:
    """Limits of a search: ``candidates`` are texts that are tried. ``is_over`` says when its user wants an end."""

    candidates: int = 1500
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
    pairs: RewritePairs = field(default_factory=RewritePairs, init=False)
    archive: Archive = field(default_factory=Archive, init=False)
    seen: set[str] = field(default_factory=set, init=False)
    expanded: set[str] = field(default_factory=set, init=False)
    spent: int = field(default=0, init=False)
    old: FasterText | None = field(default=None, init=False)

    def run(self) -> None:
        """Search to the end, or until its user has enough; what was found is in the archive.

        Raises:
            Unimprovable: the program cannot be timed, or stops whatever its FIFOs hold.
        """
        beam = [self._begin()]
        patience, rounds = _PATIENCE, _ROUNDS
        found: list[FasterText] = []
        while beam and patience and rounds and not self._is_over():
            for parent in beam:
                self.order.add(list(self._children(parent)))
            is_better, beam = False, []
            while not is_better and (children := self.order.take()) and not self._is_over():
                timed = self._round(children)
                is_better = self._keep(timed)
                found += timed
            patience, rounds = _PATIENCE if is_better else patience - 1, rounds - (not self.order.waiting)
            beam, found = self._chosen(found), []

    def _keep(self, found: Sequence[FasterText]) -> bool:
        """Put candidates on the front; return whether that brought what is looked for."""
        before = self.best, self.archive.front
        for candidate in found:
            if self.archive.add(candidate) and candidate is self.best:
                self.tell(candidate)
        wanted = slice(1) if self.target.goal is not Goal.FRONT else slice(2)
        return (self.best, self.archive.front)[wanted] != before[wanted]

    @property
    def best(self) -> FasterText | None:
        """The best so far for the goal of the search."""
        return best_of(self.archive.front, self.target, self.old)

    def _begin(self) -> FasterText:
        """Return the program as it is; where it stops, with the depths that cure it."""
        subject = timed_subject(self.first, self.target)
        if subject is None or subject.timed is None:
            raise Unimprovable("it cannot be timed on this chip")
        self.seen.add(key_of(subject.text))
        figures = figures_of(subject.timed, self.target)
        if figures is not None:
            self.old = FasterText(subject.text, figures, subject=subject)
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
                start = FasterText(again.text, figures, (step,), again)
                self.archive.add(start)
                return start
        raise Unimprovable("it stops, and no depth of its FIFOs cures it")

    def _is_over(self) -> bool:
        return self.spent >= self.limits.candidates or self.limits.is_over()

    # One round ----------------------------------------------------------------------------------------------------

    def _round(self, children: Sequence[RewriteChild]) -> list[FasterText]:
        """Return those of the candidates that were timed exactly, those first that promise most."""
        estimated: list[tuple[int, int, RewriteChild]] = []
        for child in children:
            self.spent += 1
            tried = self._estimated(child)
            self.pairs.note(child, tried.estimate)
            if tried.estimate is not None and not self._is_slow(tried.estimate):
                estimated.append((tried.estimate, len(estimated), child))
            if self._is_over():
                break
        estimated.sort(key=lambda item: item[:2])
        found: list[FasterText] = []
        most = len(estimated) if self.target.goal is Goal.FRONT else _EXACT  # a slow one may need little memory
        for _cycles, _number, child in estimated[:most]:
            if (candidate := self._exact(child)) is not None:
                found.append(candidate)
            if self.limits.is_over():
                break
        return found

    def _is_slow(self, cycles: int) -> bool:
        """Whether an estimate is well beyond the cycles of the old program: nothing slower is ever shown."""
        return self.old is not None and cycles > _SLACK * self._slowest(self.old)

    def _slowest(self, old: FasterText) -> float:
        return old.figures.cycles * (_SLOWER if self.target.goal is Goal.FRONT else 1)

    def _children(self, parent: FasterText) -> Iterator[RewriteChild]:
        """Yield what rewrites make of a program, as far as that is new."""
        self.expanded.add(parent.key)
        bottleneck = self._bottleneck(parent)
        for rewrite in self.rewrites:
            for site in self._sites(parent, rewrite):
                text = apply_edits(parent.text, list(site.edits))
                key = key_of(text)
                if key not in self.seen:
                    self.seen.add(key)
                    yield RewriteChild(parent, site, text, key, bottleneck, change_of(site))

    def _bottleneck(self, parent: FasterText) -> Bottleneck:
        known = self.record.bottleneck(parent.key)
        if known is None:
            subject = self._subject(parent)
            timed = None if subject is None else subject.timed
            known = Bottleneck("waiting", "") if timed is None else bottleneck_of(timed, self.target)
            self.record.keep_bottleneck(parent.key, known)
        return known

    def _sites(self, parent: FasterText, rewrite: Rewrite) -> Sequence[RewriteSite]:
        known = self.record.sites(parent.key, rewrite.name)
        if known is None:
            subject = self._subject(parent)
            known = () if subject is None else tuple(rewrite.sites(subject))
            self.record.keep_sites(parent.key, rewrite.name, known)
        return known

    def _subject(self, candidate: FasterText) -> RewriteSubject | None:
        if candidate.subject is not None and candidate.subject.timed is not None:
            return candidate.subject
        return read_again(candidate.text, self.first, self.target)

    def _estimated(self, child: RewriteChild) -> Tried:
        tried = self.record.tried(child.key)
        if tried is None:
            subject = self._applied(child)
            tried = Tried(None if subject is None else estimate(subject, self.target))
            self.record.keep(child.key, tried)
        return tried

    def _applied(self, child: RewriteChild) -> RewriteSubject | None:
        if child.made is None:
            parent = self._subject(child.parent)
            child.made = None if parent is None else applied(parent, child.site)
        return child.made

    def _exact(self, child: RewriteChild) -> FasterText | None:
        """Return a child with its exact figures; None where it stops, or takes more than there is."""
        tried, subject = self.record.tried(child.key), None
        if tried is None or not tried.exact:
            made = self._applied(child)
            subject = None if made is None else timed_subject(made, self.target)
            figures = None if subject is None or subject.timed is None else figures_of(subject.timed, self.target)
            tried = Tried(None if tried is None else tried.estimate, True, figures)
            self.record.keep(child.key, tried)
        figures = tried.figures
        self.pairs.note(child, None if figures is None else figures.cycles)
        if figures is None or not self._fits(figures):
            return None
        parent = child.parent
        step = OptimizeStep(child.site.rewrite, child.site.sentence, parent.figures, figures)
        return FasterText(child.text, figures, (*parent.steps, step), subject)

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
        by_cycles = sorted(found, key=lambda each: (each.figures.cycles, each.figures.on_chip))
        by_memory = sorted(found, key=lambda each: (each.figures.on_chip, each.figures.cycles))
        first, second = (by_memory, by_cycles) if self.target.goal is Goal.MEMORY else (by_cycles, by_memory)
        share = _BEAM // 2 if self.target.goal is Goal.MEMORY else 1
        chosen = [*first[: _BEAM - share], *second[:share]]
        return list({each.key: each for each in chosen}.values())

    def _open_points(self) -> list[FasterText]:
        """Return points of the front that were not rewritten yet, from all along it."""
        points = [each for each in self.archive.front if each.key not in self.expanded]
        step = max(len(points) / _FRONT, 1)
        return [points[int(number * step)] for number in range(min(len(points), _FRONT))]


def best_of(front: Sequence[FasterText], target: OptimizeTarget, old: FasterText | None) -> FasterText | None:
    """Return the candidate of a front that a goal means; one that the chip holds comes before one that it does not.

    For memory it is the one with the fewest bytes on chip that takes no more cycles than the old program.
    """
    fitting = [each for each in front if not target.capacity or each.figures.on_chip <= target.capacity] or list(front)
    if old is not None:
        fitting = [each for each in fitting if each.figures.cycles <= old.figures.cycles]
    if not fitting:
        return None
    if target.goal is Goal.MEMORY:
        return min(fitting, key=lambda each: (each.figures.on_chip, each.figures.cycles))
    return min(fitting, key=lambda each: (each.figures.cycles, each.figures.on_chip))
