"""What the commands share about the terminal: colours, progress, messages on standard error."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from stepcore.reports.text import clean
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

EXIT_CLEAN: Final = 0
EXIT_FINDINGS: Final = 1
EXIT_UNUSABLE: Final = 2
EXIT_INTERRUPTED: Final = 130

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
