"""What the commands share about the terminal: colours, progress, messages on standard error."""

from __future__ import annotations

import errno
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from stepcore.reports.text import clean
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from stepcore.jobs import Job

EXIT_CLEAN: Final = 0
EXIT_FINDINGS: Final = 1
EXIT_UNUSABLE: Final = 2
EXIT_INTERRUPTED: Final = 130

_Result = TypeVar("_Result")
_PATIENCE: Final = 1.0  # seconds before anything is shown


def colours_wanted(stream: TextIO) -> bool:
    """Return whether ``stream`` is a terminal that shows colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def complain(message: str) -> None:
    """Write a message to standard error; further lines of it are set in, so that none looks like another message."""
    first, *more = clean(message).split("\n")
    print("\n".join([f"stepsmith: {first}", *(f"    {line}" for line in more)]), file=sys.stderr)


def write_program(text: str) -> None:
    """Write a program to standard output: as it is into a file or pipe, harmless to a terminal."""
    sys.stdout.write(clean(text) if sys.stdout.isatty() else text)


def output_is_closed() -> bool:
    """Return whether nobody can read standard output any more, as after `| head -1`; False where a system cannot tell.

    What waits has to ask: writing would tell, but there is nothing to write yet.
    """
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # no output at all, or none of the system
        return False
    if not hasattr(select, "poll"):
        return False
    looked = select.poll()
    looked.register(descriptor, 0)  # only what is told unasked: the other end is gone
    return any(told & (select.POLLERR | select.POLLHUP) for _descriptor, told in looked.poll(0))


def awaited(job: Job[_Result]) -> _Result:
    """Return the value of a job whose result is to be printed.

    Raises:
        BrokenPipeError: nobody reads what is printed, so that the job was cancelled.
        JobError: it failed.
    """
    from stepcore.jobs import JobCancelled  # `check` needs no workers

    try:
        return job.result_unless(output_is_closed)
    except JobCancelled as error:
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output") from error


def console() -> Console:
    """Return rich's console for standard output; without a terminal lines are not wrapped."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 200
    return Console(file=sys.stdout, highlight=False, no_color=not colours_wanted(sys.stdout), width=width)


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` with a spinner on standard error after one second; gives a function that changes the text."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    spinner = _Spinner(text)
    try:
        yield spinner.update
    finally:
        spinner.stop()


class _Spinner:
    """rich's status line, imported and shown only when the wait is long."""

    def __init__(self, text: str) -> None:
        from typing import Any

        self._text = one_line(text)
        self._status: Any = None
        self._lock = threading.Lock()
        self._stopped = False
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def update(self, text: str) -> None:
        """Change the text."""
        with self._lock:
            self._text = one_line(text)
            if self._status is not None:
                self._status.update(self._plain())

    def stop(self) -> None:
        """Remove the line."""
        self._timer.cancel()
        with self._lock:
            self._stopped = True
            if self._status is not None:
                self._status.stop()

    def _show(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._stopped:
                self._status = Console(stderr=True).status(self._plain())
                self._status.start()

    def _plain(self) -> Text:
        """Return the text without markup: names may hold square brackets."""
        from rich.text import Text

        return Text(self._text)
