"""From runs to what is plotted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepagents.report.plots import Point, Series, ShareBar
from stepagents.report.published import PUBLISHED, TASKS
from stepagents.report.runs import Attempt, BenchRun
from stepagents.report.stats import wilson
from stepagents.report.summary import Totals, overall, seeds


def system_bars(runs: Sequence[BenchRun]) -> list[ShareBar]:
    """Return the published systems and the runs, with the share of their tasks that each solved."""
    bars = []
    for system in PUBLISHED:
        share = system.solved / TASKS
        bars.append(
            ShareBar(
                system.name, share, *wilson(share, TASKS), f"{share:.1%} ({system.solved} of {TASKS})", reference=True
            )
        )
    for style, run in enumerate(runs):
        total = overall(run)
        bars.append(ShareBar(run.label, total.share, total.low, total.high, share_text(total), style=style))
    return bars


def share_text(total: Totals) -> str:
    """Return "96.2% (25 of 26)"."""
    return f"{total.share:.1%} ({total.solved:.4g} of {total.tasks})"


def token_series(runs: Sequence[BenchRun]) -> list[Series]:
    """Return for each run how many tasks were solved by the time so many input tokens had been used, over all seeds.

    Counts are means over the seeds: a run that is repeated goes through the same points.
    """
    return [Series(run.label, style, _over_tokens(run), steps=True) for style, run in enumerate(runs)]


def _over_tokens(run: BenchRun) -> list[Point]:
    rounds = max(len(seeds(run)), 1)
    tokens = solved = 0
    points: list[Point] = []
    for attempt in run.attempts:
        tokens += attempt.input_tokens
        solved += attempt.solved
        point = (tokens / rounds, solved / rounds)
        if points and points[-1][0] == point[0]:
            points[-1] = point
        else:
            points.append(point)
    return points


def effort_series(runs: Sequence[BenchRun], effort: Callable[[Attempt], float]) -> list[Series]:
    """Return for each run how many tasks are solved with at most so much ``effort`` each."""
    return [Series(run.label, style, _within(run, effort), steps=True) for style, run in enumerate(runs)]


def candidates_each(attempt: Attempt) -> float:
    """Return the candidates of a solved task for each right program: of the search, which ends with it, all."""
    return attempt.candidates / max(attempt.accepted, 1)


def seconds_each(attempt: Attempt) -> float:
    """Return the time of a task."""
    return attempt.seconds


def _within(run: BenchRun, effort: Callable[[Attempt], float]) -> list[Point]:
    rounds = max(len(seeds(run)), 1)
    values = sorted(effort(attempt) for attempt in run.attempts if attempt.solved)
    if not values:
        return []
    return [(values[0], 0.0), *((value, (number + 1) / rounds) for number, value in enumerate(values))]
