"""What ``stepsmith improve`` shows: a live table on a terminal, a line for each event elsewhere, JSON at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from stepagents.experience.journal import Journal
from stepagents.improve import Ended, Improvement, LoopEvent, StageBegun, Standing
from stepcore.cli.terminal import console
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_WIDEST: Final = 60  # characters of a reason


class LoopView(Protocol):
    """Something that shows a run while it goes on."""

    def show(self, loop: Improvement, event: LoopEvent) -> None:
        """Show what has just happened."""

    def tell(self, text: str) -> None:
        """Show what is being worked on; may be called from any thread."""


class _Lines:
    """One line for each stage and each newly solved task."""

    def show(self, loop: Improvement, event: LoopEvent) -> None:
        if isinstance(event, StageBegun):
            print(f"{stage_text(event)}: {event.tasks} tasks, {len(event.demonstrations)} demonstrations")
        elif event.standing.earned is not None:
            earned = event.standing.earned
            again = " (from the journal)" if event.replayed else ""
            print(f"  solved  {one_line(earned.task)}  (success rate {earned.success_rate:.3g}){again}")
        sys.stdout.flush()

    def tell(self, text: str) -> None:
        """Lines are for what lasts."""


class _Silent:
    def show(self, loop: Improvement, event: LoopEvent) -> None:
        """Nothing is shown."""

    def tell(self, text: str) -> None:
        """Nothing is shown."""


class _Table:
    """The table of all tasks, kept up to date on a terminal."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._stage = "starting"
        self._told = ""
        self._loop: Improvement | None = None

    def show(self, loop: Improvement, event: LoopEvent) -> None:
        self._loop = loop
        if isinstance(event, StageBegun):
            self._stage = f"{stage_text(event)}, {len(event.demonstrations)} demonstrations"
        self._refresh()

    def tell(self, text: str) -> None:
        self._told = one_line(text)[:_WIDEST]
        self._refresh()

    def _refresh(self) -> None:
        if self._loop is not None:
            # What is still open comes first: the end of a long table may not fit.
            rows = sorted(self._loop.standings, key=lambda standing: not standing.is_open)
            table = standings_table(rows)
            table.title, table.title_justify = self._stage, "left"
            table.caption, table.caption_justify = self._told, "left"
            self._live.update(table)


@contextmanager
def watching(silent: bool) -> Iterator[LoopView]:
    """Give the view that fits the terminal."""
    if silent or not sys.stdout.isatty():
        yield _Silent() if silent else _Lines()
        return
    from rich.live import Live

    with Live(console=console(), transient=True, refresh_per_second=8) as live:
        yield _Table(live)


@contextmanager
def going_on(journal: Journal, *, resumed: bool, as_json: bool) -> Iterator[None]:
    """Hold a run while it goes on, and say so where it is one that was stopped.

    Raises:
        StoreError: another process works on it.
    """
    with journal.held():
        if resumed and not as_json:
            print(f"going on with run {journal.number} (--new begins another)")
        yield


def concluded(journal: Journal, ended: Ended | None) -> Ended:
    """Note that a run is over, where going on would change nothing; return why it ended."""
    assert ended is not None, "the loop says why it is over"
    if ended.final:
        journal.end(ended.value)
    return ended


def stage_text(event: StageBegun) -> str:
    """Return which stage of which round this is."""
    return f"round {event.round + 1}, stage {event.stage + 1} of {event.stages}"


def standings_table(standings: Sequence[Standing]) -> Table:
    """Return how all tasks stand."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("task", "state", "stages", "answers", "right", "tokens", "cost $", "seconds", "reason"):
        table.add_column(heading, justify="left" if heading in {"task", "state", "reason"} else "right")
    for standing in standings:
        cost = f"{standing.cost:.4f}" if standing.cost_known else "not known"
        cells = [
            standing.order.task, _state(standing), str(standing.stages), f"{standing.answers:,}",
            str(standing.accepted), f"{standing.tokens:,}", cost, f"{standing.seconds:.1f}",
            _reason(standing),
        ]  # fmt: skip
        table.add_row(*(escape(one_line(cell)) for cell in cells))
    return table


def standing_json(standing: Standing) -> dict[str, Any]:
    """Return how a task stands as plain data."""
    earned = standing.earned
    return {
        "task": standing.order.task,
        "path": standing.order.path,
        "solved": earned is not None,
        "impl": earned.impl if earned is not None else "",
        "success_rate": earned.success_rate if earned is not None else 0.0,
        "stages": standing.stages,
        "answers": standing.answers,
        "accepted": standing.accepted,
        "tokens": standing.tokens,
        "cost": standing.cost if standing.cost_known else None,
        "seconds": standing.seconds,
        "reason": standing.problem or ("" if earned is not None else standing.reason),
    }


def _state(standing: Standing) -> str:
    if standing.problem:
        return "unusable"
    return "open" if standing.earned is None else "solved"


def _reason(standing: Standing) -> str:
    text = standing.problem or ("" if standing.earned is not None else standing.reason)
    line = text.split("\n", 1)[0]
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"
