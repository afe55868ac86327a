"""Watching the user's code while it is traced: what it prints, opens, and how long it runs. No torch here."""

from __future__ import annotations

import ctypes
import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

from stepagents.torchfn.blame import explained
from stepagents.torchfn.refusals import NO_TRACE, Refused
from stepcore.jobdata.failures import Finding
from stepcore.jobs import JobCancelled, JobError
from stepcore.jobs.effort import Effort, usage_of_thread

_EFFECTS: Final = ("os.", "subprocess.", "socket.", "shutil.", "urllib.")
# Python reads sources for imports and for the places of errors; PyTorch does so while it traces.
_READERS: Final = ("importlib", "linecache", "traceback", "inspect", "tokenize")
_LOADERS: Final = ("torch/serialization.py", "torch/hub.py")
_POLL: Final = 0.1


class SideEffect(BaseException):
    """The function touches the world outside; no Exception, so that its own handlers do not swallow it."""


class CallTooLong(BaseException):
    """The function was still running at the end of its time."""


class Guard:
    """Runs the user's code for one job and turns what goes wrong into a :class:`Refused`.

    ``printed`` is the first line of the user's file that printed, ``seconds`` the time that one call may take.
    """

    def __init__(
        self, path: str, line: int, seconds: float = 10.0, cancelled: Callable[[], bool] | None = None
    ) -> None:
        self.path = str(Path(path).absolute())
        self.shown = path
        self.line = line
        self.seconds = seconds
        self.printed: int | None = None
        self.stopped_at: int | None = None
        self._cancelled = cancelled or (lambda: False)

    def user_line(self, frame: FrameType | None) -> int | None:
        """Return the innermost line of the user's file on the stack of ``frame``."""
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Swallow what is printed, remember where; PyTorch logs the errors that trying sizes gives.

        What the user's code sets in PyTorch is put back at the end.
        """
        from stepcore.sim.torch_settings import settings_kept  # here, because it loads torch

        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            with (
                redirect_stdout(_Listener(self)),
                redirect_stderr(io.StringIO()),
                warnings.catch_warnings(),
                settings_kept(),
            ):
                warnings.simplefilter("ignore")
                yield
        finally:
            logging.disable(before)

    @contextmanager
    def watch(self, sizes: str = "", patience: float = 1.0) -> Iterator[None]:
        """Run the user's function inside: its errors, side effects and endless loops become a :class:`Refused`.

        ``sizes`` says at which sizes it runs, for the message of an error. ``patience`` is how many times as long it
        may take because PyTorch does something around it.
        """
        _install()
        clock = _Clock(self, self.seconds * patience)
        _WATCHERS.append(self)
        try:
            with self.quiet(), clock:
                yield
        except (Refused, JobError, JobCancelled, MemoryError):
            raise
        except CallTooLong as error:
            if self._cancelled():
                raise JobCancelled from error
            what = f"the function was still running {clock.over}"
            advice = "a loop that does not end, or does too much, cannot become a program"
            refused = self._refused(what, advice, self.stopped_at)
            refused.is_final = True
            raise refused from error
        except SideEffect as error:
            raise self._refused(str(error), "pass what it needs as an argument", self.stopped_at) from error
        except BaseException as error:
            raise Refused([explained(error, self.path, self.shown, self.line, sizes)]) from error
        finally:
            _WATCHERS.remove(self)

    def _refused(self, what: str, advice: str, line: int | None) -> Refused:
        return Refused([Finding(NO_TRACE, what, self.shown, line or self.line, 1, advice, "")])

    @property
    def cancelled(self) -> bool:
        """True once the owner wants the job to stop."""
        return self._cancelled()


class _Listener(io.StringIO):
    """A standard output that notes the line that writes to it."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def write(self, text: str) -> int:
        if self._guard.printed is None:
            self._guard.printed = self._guard.user_line(sys._getframe(1))
        return len(text)


class _Clock:
    """Raises :class:`CallTooLong` in the thread that entered it, after so many seconds of work or on a cancellation.

    ``over`` says why.
    """

    def __init__(self, guard: Guard, seconds: float) -> None:
        self._guard = guard
        self._effort = Effort(seconds, partial(usage_of_thread, threading.get_native_id()))
        self._thread = threading.get_ident()
        self.over = ""
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._wait, name="stepsmith-clock", daemon=True)

    def __enter__(self) -> None:
        self._watcher.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def _wait(self) -> None:
        while not self._done.wait(_POLL):
            self.over = self._effort.over()
            if self.over or self._guard.cancelled:
                self._guard.stopped_at = self._guard.user_line(sys._current_frames().get(self._thread))
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(CallTooLong))
                return


_WATCHERS: Final[list[Guard]] = []
_INSTALLED: Final[list[bool]] = []


def _install() -> None:
    """Hooks cannot be taken away again, so there is one, which does nothing while no function is watched."""
    if not _INSTALLED:
        _INSTALLED.append(True)
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _WATCHERS or not (event == "open" or event.startswith(_EFFECTS)):
        return
    guard = _WATCHERS[-1]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != guard.path:
        name = frame.f_code.co_filename
        internal = "/torch/" in name and not name.endswith(_LOADERS)
        if internal or any(reader in name for reader in _READERS):
            return
        frame = frame.f_back
    if frame is None:
        return
    guard.stopped_at = frame.f_lineno
    what = f"opens the file {arguments[0]!r}" if event == "open" else f"calls {event}"
    raise SideEffect(f"the function {what}")
