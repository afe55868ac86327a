"""What a limit on time counts: work, not waiting for a turn on a busy machine, and not the clock on the wall.

Time goes on by the processor time that was used, but never by more than passed, so that threads do not cost extra.
Where none was used and none is wanted, something is waited for that may never come, so waiting has the same limit. A
ceiling of :data:`CEILING` times the limit ends what is never granted its time. Systems that do not tell (all but Linux)
fall back to the time that passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

CEILING: Final = 10.0  # times the limit, in time that passed
_EVERY: Final = 0.1  # seconds between two looks
_RUNNABLE: Final = frozenset("RD")  # states of threads that run, or would if they could
_SYSTEM: Final = Path("/proc")
# What has been used of the processor, in seconds, and whether more is wanted just now; None where that is not told.
Usage: TypeAlias = Callable[[], "tuple[float, bool] | None"]


class Effort:
    """How much of a limit of ``seconds`` (None: no limit) is spent."""

    def __init__(self, seconds: float | None, usage: Usage, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.worked = 0.0
        self.waited = 0.0
        self.passed = 0.0
        self.usage = usage
        self._clock = clock
        self._counts_work = True
        self._pauses = 0
        self._begin()

    def over(self) -> str:
        """Return why it is over, an empty text while it is not. Cheap enough to be asked often."""
        if self.seconds is None or self._pauses:
            return ""
        self._look()
        unit = " of CPU time" if self._counts_work else ""
        if self.worked >= self.seconds:
            return f"after {self.seconds:g} s{unit}"
        if self.waited >= self.seconds:
            return f"after it had waited for {self.seconds:g} s without using CPU time"
        if self.passed >= CEILING * self.seconds:
            return f"after {CEILING * self.seconds:g} s, of which it could compute {self.worked:.3g} s"
        return ""

    def renew(self) -> None:
        """Begin anew, as if nothing had been spent."""
        self.worked = self.waited = self.passed = 0.0
        self._begin()

    def pause(self) -> None:
        """Stand still until as many calls of :meth:`resume`."""
        if not self._pauses and self.seconds is not None:
            self._look(at_once=True)
        self._pauses += 1

    def resume(self) -> None:
        """Undo one :meth:`pause`."""
        self._pauses = max(self._pauses - 1, 0)
        if not self._pauses:
            self._begin()

    def _begin(self) -> None:
        self._at = self._clock()
        found = None if self.seconds is None else self.usage()
        self._used = None if found is None else found[0]

    def _look(self, at_once: bool = False) -> None:
        now = self._clock()
        passed = now - self._at
        if passed < _EVERY and not at_once:
            return
        found = self.usage()
        self._at = now
        self.passed += passed
        if found is None or self._used is None:
            self._counts_work = False
            self.worked += passed
            self._used = None if found is None else found[0]
            return
        used, wants_more = found
        work = min(max(used - self._used, 0.0), passed)
        self._used = used
        self.worked += work
        if not work and not wants_more:
            self.waited += passed


def usage_of_tree(root: int) -> tuple[float, bool] | None:
    """Return what a process and its descendants have used, those that ended included."""
    used, wants_more, waiting = 0.0, False, [root]
    seen: set[int] = set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        try:
            fields = _stat(_SYSTEM / str(pid) / "stat")
            used += sum(map(int, fields[11:15])) / _ticks()  # utime, stime, and both of children that ended
            for task in (_SYSTEM / str(pid) / "task").iterdir():
                wants_more = wants_more or _stat(task / "stat")[0] in _RUNNABLE
                waiting.extend(map(int, (task / "children").read_text(encoding="ascii").split()))
        except (OSError, ValueError, IndexError):
            if pid == root:
                return None  # another system, or it has ended
    return used, wants_more


def usage_of_process(pid: int) -> tuple[float, bool] | None:
    """Return what a process has used by itself, without those that it started."""
    process = _SYSTEM / str(pid)
    try:
        used = sum(map(int, _stat(process / "stat")[11:13])) / _ticks()
        return used, any(_stat(task / "stat")[0] in _RUNNABLE for task in (process / "task").iterdir())
    except (OSError, ValueError, IndexError):
        return None


def usage_of_thread(native: int) -> tuple[float, bool] | None:
    """Return what this process has used, and whether one of its threads wants to run."""
    try:
        return time.process_time(), _stat(_SYSTEM / "self" / "task" / str(native) / "stat")[0] in _RUNNABLE
    except (OSError, IndexError):
        return None


def _stat(path: Path) -> list[str]:
    """Return the fields after the name, which may hold anything: state, parent, ..."""
    return path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")
