"""When memory is given back: once enough was forgotten, and in a moment in which nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stepserver import memory

if TYPE_CHECKING:
    from stepserver.guard import Reporter
    from stepserver.loop import Loop

_FORGOTTEN: Final = 40_000  # characters of text whose analyses may be dropped before their memory is given back
_WORTH: Final = 10_000  # of fewer, what is found is not worth the look through all objects
SECONDS: Final = 1.0  # after a close: by then the other tabs that are being closed are closed, too


class GivingBack:
    """Counts what was forgotten, and gives its memory back: of little in a quiet moment, since all else waits 0.1 s.

    Args:
        loop: calls later, and calls :meth:`quiet` some time after it was woken.
        reporter: tells of what fails.
        kept: how many characters of text have analyses, which have to be parsed again after memory was given back.
        is_awaited: whether somebody waits for a verdict.
    """

    def __init__(self, loop: Loop, reporter: Reporter, kept: Callable[[], int], is_awaited: Callable[[], bool]) -> None:
        self._loop = loop
        self._reporter = reporter
        self._kept = kept
        self._is_awaited = is_awaited
        self._forgotten = 0  # characters whose analyses were dropped since memory was given back
        self._is_due = self._is_untidy = False

    def forgot(self, characters: int, seconds: float = 0.0) -> None:
        """Analyses of so much text were dropped; give their memory back ``seconds`` later."""
        self._forgotten += characters
        self._loop.later(seconds, self._look)

    def quiet(self) -> None:
        """No message has come for a while: give back what is due, unless somebody waits."""
        if not (self._is_due or self._is_untidy):
            return
        if self._is_awaited():
            self._loop.wake()
        elif self._is_due:
            self._release()
        else:
            self._is_untidy = False
            self._reporter.run("giving memory back", memory.tidy)

    def _look(self) -> None:
        """See whether what was forgotten outweighs what is kept."""
        if self._forgotten < min(max(self._kept(), _WORTH), _FORGOTTEN):
            return
        self._is_due = True
        if self._forgotten >= _FORGOTTEN and not self._is_awaited():
            self._release()  # or many files that are opened one after the other would take more and more
        else:
            self._loop.wake()

    def _release(self) -> None:
        self._forgotten = 0
        self._is_due = False
        self._reporter.run("giving memory back", memory.release)
        self._loop.later(SECONDS, self._untidy)

    def _untidy(self) -> None:
        self._is_untidy = True
        if self._is_awaited():
            self._loop.wake()
        else:
            self.quiet()
