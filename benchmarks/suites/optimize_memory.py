"""What optimization memory saves: candidates until one is within 5 % of the best, with whole families left out.

Each of ten seeds draws all programs anew. A program is searched without memory, in the order of the rewrites, and with
what the searches of the other families found in the same draw. Two more searches go on from the best few at a time,
too: one knows nothing, the other what it has tried itself; they tell which part of the gain is knowledge of others. All
count each text that they try, those that end without such a program all of theirs; how often one ends so stands below.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from statistics import fmean, stdev
from typing import Final

from benchmarks.harness import BenchReport
from benchmarks.optimize_families import CHIP, FAMILIES, FamilyProgram, programs
from stepagents.experience.optimizations import Bottleneck, Change, OptimizationItem
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.lessons import Place
from stepagents.optimize.order import CandidateOrder
from stepagents.optimize.pairs import RewriteChild
from stepagents.optimize.prior import RewritePrior
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits, Unimprovable
from stepcore.records import Record

SEEDS: Final = range(301, 311)  # others were looked at while the order was worked out
_T_9: Final = 2.262  # two-sided 95 % quantile of Student's t with nine degrees of freedom
_NEAR: Final = 1.05
_CANDIDATES: Final = 400
_ARMS: Final = ("none", "unknowing", "alone", "memory")


class _Equal(RewritePrior):
    """Expects the same of all: a gain of one nat in the mean, distributed exponentially."""

    def __bool__(self) -> bool:
        return True

    def expected(
        self, bottleneck: Bottleneck, change: Change, place: Place | None = None, beyond: float = 0.0
    ) -> float:
        return exp(-beyond)


class _Alone(RewritePrior):
    """Knows what its own search has tried."""

    def __bool__(self) -> bool:
        return True


class _Found(Record):
    """What one search found: texts tried when each better program was there, and all of them; the cycles at first."""

    first: int
    better: tuple[tuple[int, int], ...]
    tried: int
    items: tuple[OptimizationItem, ...]

    @property
    def best(self) -> int:
        return min([self.first, *(cycles for _, cycles in self.better)])

    def is_near(self, cycles: float) -> bool:
        """Whether it found a program that takes so many cycles at most."""
        return self.best <= cycles

    def needed(self, cycles: float) -> int:
        """Return how many texts were tried until a program took so many cycles at most; all where none did."""
        if self.first <= cycles:
            return 0
        return next((tried for tried, found in self.better if found <= cycles), self.tried)


def run(seeds: Sequence[int] = SEEDS) -> BenchReport:
    """Measure all seeds; what is counted does not depend on the machine."""
    columns = ("family", "programs", "without", "a few at a time", "its own lessons", "with memory", "of without")
    report = BenchReport(
        "optimize-memory", "Candidates until 5 % of the best, memory from the other families only", columns
    )
    by_seed: list[dict[str, dict[str, int]]] = []
    counted: dict[str, int] = dict.fromkeys(FAMILIES, 0)
    missed: dict[str, int] = dict.fromkeys(_ARMS, 0)
    for seed in seeds:
        found = _seed(seed)
        by_seed.append({family: dict.fromkeys(_ARMS, 0) for family in FAMILIES})
        for family, arms in found:
            near = _NEAR * min(each.best for each in arms.values())
            counted[family] += any(each.needed(near) for each in arms.values())
            for arm, each in arms.items():
                by_seed[-1][family][arm] += each.needed(near)
                missed[arm] += not each.is_near(near)
    for family in FAMILIES:
        sums = {arm: sum(each[family][arm] for each in by_seed) for arm in _ARMS}
        report.rows.append([family, str(counted[family]), *_cells(sums)])
        report.figures[family] = {"programs": counted[family], **sums}
    totals = [{arm: sum(each[family][arm] for family in FAMILIES) for arm in _ARMS} for each in by_seed]
    report.rows.append(
        ["all", str(sum(counted.values())), *_cells({arm: sum(each[arm] for each in totals) for arm in _ARMS})]
    )
    report.rows.append(["searches that end without one", "", *(str(missed[arm]) for arm in _ARMS), ""])
    report.figures["ended without"] = missed
    _intervals(report, list(seeds), totals)
    return report


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of ten values, by Student's t."""
    half = _T_9 * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values) - half, fmean(values) + half


def _cells(sums: dict[str, int]) -> list[str]:
    share = f"{sums['memory'] / sums['none']:.2f}" if sums["none"] else "-"
    return [*(f"{sums[arm]:,}" for arm in _ARMS), share]


def _intervals(report: BenchReport, seeds: list[int], totals: list[dict[str, int]]) -> None:
    """Add 95 % intervals of the mean over seeds, of what each search needs for all programs of a seed."""
    bounds = {arm: mean_interval([float(each[arm]) for each in totals]) for arm in _ARMS}
    report.rows.append(
        ["a seed, 95 % interval", "", *(f"{low:.0f} to {high:.0f}" for low, high in bounds.values()), ""]
    )
    shares = [each["memory"] / each["none"] for each in totals]
    known = [each["memory"] / each["unknowing"] for each in totals]
    others = [each["memory"] / each["alone"] for each in totals]
    report.figures |= {
        "seeds": seeds, "totals": totals, "intervals": bounds, "share": mean_interval(shares),
        "share of a few at a time": mean_interval(known), "share of its own lessons": mean_interval(others),
    }  # fmt: skip
    saved = 1 - sum(each["memory"] for each in totals) / sum(each["none"] for each in totals)
    report.goal("candidates saved by memory of other families", saved, 0.5, at_least=True)
    report.goal("space between the intervals, candidates", bounds["none"][0] - bounds["memory"][1], 0, at_least=True)
    report.goal("share of what a few at a time take without knowledge, upper end", mean_interval(known)[1], 1)


def _seed(seed: int) -> list[tuple[str, dict[str, _Found]]]:
    drawn = list(programs(seed))
    records = [SearchRecord() for _ in drawn]  # what was timed for one search need not be timed for the others
    plain = [_search(each, record, RewritePrior()) for each, record in zip(drawn, records, strict=True)]
    found: list[tuple[str, dict[str, _Found]]] = []
    for program, record, without in zip(drawn, records, plain, strict=True):
        if without is None:
            continue
        others = [
            item for each, what in zip(drawn, plain, strict=True)
            if what is not None and each.family != program.family for item in what.items
        ]  # fmt: skip
        arms = {"none": without}
        for arm, prior in {"unknowing": _Equal(), "alone": _Alone(), "memory": RewritePrior(others)}.items():
            searched = _search(program, record, prior)
            assert searched is not None
            arms[arm] = searched
        found.append((program.family, arms))
    return found


def _search(program: FamilyProgram, record: SearchRecord, prior: RewritePrior) -> _Found | None:
    """Return what a search finds; None where nothing can be made of the program."""
    order: CandidateOrder[RewriteChild] = CandidateOrder(prior)
    search = Search(program.subject, OptimizeTarget(CHIP), record, SearchLimits(_CANDIDATES), order=order)
    better: list[tuple[int, int]] = []
    search.tell = lambda candidate: better.append((search.spent, candidate.figures.cycles))
    try:
        search.run()
    except Unimprovable:
        return None
    assert search.best is not None
    # Where it stopped, the cure is the first step of all searches, and needs no candidates.
    first = search.best.steps[0].after if search.old is None else search.old.figures
    return _Found(first.cycles, tuple(better), search.spent, tuple(search.pairs.items()))
