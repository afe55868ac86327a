"""Progress bars on standard error, shown only where it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stepagents.sampling import Sampled
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

_WIDTH = 100  # characters of what is told


class Bar:
    """Counts tasks that are done and solved. Without a terminal it does nothing."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._solved = 0
        if progress is not None:
            self._task = progress.add_task("starting", total=total, solved=0)

    def tell(self, text: str) -> None:
        """Show what is being worked on; may be called from any thread."""
        if self._progress is not None:
            self._progress.update(self._task, description=one_line(text)[:_WIDTH])

    def count(self, sampled: Sampled) -> None:
        """Count a result."""
        self._solved += sampled.solved
        if self._progress is not None:
            self._progress.update(self._task, advance=1, solved=self._solved)


@contextmanager
def progress_bar(total: int) -> Iterator[Bar]:
    """Show a bar for ``total`` tasks until the end of the block; lines that are printed appear above it."""
    if not sys.stderr.isatty():
        yield Bar(None, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[solved]} solved"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    # Standard output goes through the bar only if it is the same terminal; else it would end up on standard error.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        yield Bar(progress, total)
