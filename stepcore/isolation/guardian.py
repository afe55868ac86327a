"""Who watches over a worker: nothing that it started outlives it, and it outlives no owner.

With a PID namespace three processes stand in a row: the *guardian*, which the owner started and knows, *init*, the
first of the namespace, and the worker. When any of them ends, the kernel ends those below with everything in the
namespace, whatever it did to its session, signals or parents. Without one the guardian is the *subreaper* of all
descendants: it gets those whose parents are gone, and ends them one by one when the worker or the owner ends. Only a
kill -9 of this guardian itself leaves descendants that have left the worker.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

from stepcore.isolation.kernel import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from stepcore.isolation.memory import GroupMemory
from stepcore.isolation.policy import OVER_MEMORY
from stepcore.system.processes import descendants
from stepcore.system.scarce import what_is_scarce

_OVER_MEMORY_STATUS: Final = OVER_MEMORY << 8  # as wait() tells an exit code
_ROUNDS: Final = 5_000  # of looking for processes to end; far more than the fastest starter needs


def under_init(arrange: Callable[[], GroupMemory | None], scratch: str) -> None:
    """Fork init and the worker; returns in the worker, after init has called ``arrange``, which says whether it is to
    watch the memory.

    The caller has unshared the PID namespace, so that its first child is the first process of it. ``scratch`` is a
    folder to remove at the end, empty where there is none.
    """
    lifeline, kept_open = os.pipe()
    status, told = os.pipe()
    child = os.fork()
    if child:
        os.close(lifeline)
        os.close(told)
        _guard(child, status, scratch)
    os.close(kept_open)
    os.close(status)
    prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([lifeline], [], [], 0)[0]:  # the guardian was gone before prctl was called
        os._exit(0)
    os.close(lifeline)
    try:
        watch = arrange()
        worker = os.fork()
    except BaseException as error:  # noqa: BLE001 - a copy of the guardian must not run on
        _last_words(error)
    if worker:
        _be_init(worker, told, watch)
    os.close(told)
    os.setsid()
    prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, signal.SIGKILL)


def under_subreaper(scratch: str, watch: GroupMemory | None) -> None:
    """Fork the worker, and let this process end what it leaves behind; returns in the worker."""
    prctl("PR_SET_CHILD_SUBREAPER", PR_SET_CHILD_SUBREAPER, 1)
    watched = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    worker = os.fork()
    if worker:
        # A signal that can be answered, so that the death of the owner does not take the guardian first.
        prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, signal.SIGTERM)
        _reap(worker, watched, scratch, watch)
    guardian = os.getppid()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.setsid()
    prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guardian:
        os._exit(0)


def _guard(init: int, status: int, scratch: str) -> NoReturn:
    """Wait for the end of the namespace, then end as the worker did."""
    try:
        _stand_aside()
        os.waitpid(init, 0)
        told = os.read(status, 4)
        forget(scratch)
        _end_like(int.from_bytes(told, "little") if len(told) == 4 else signal.SIGKILL)
    except BaseException as error:  # noqa: BLE001 - as above
        _last_words(error)


def _be_init(worker: int, told: int, watch: GroupMemory | None) -> NoReturn:
    """Reap whatever the namespace orphans, and end with the worker, or where they hold too much memory: the kernel then
    ends the rest.
    """
    try:
        _stand_aside()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        status = None
        while status is None:
            status = _reaped(worker)
            if status is None and watch is not None and watch.over():
                status = _OVER_MEMORY_STATUS
            if status is None:
                _wait({signal.SIGCHLD}, watch)
        os.write(told, status.to_bytes(4, "little"))
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - as above
        _last_words(error)


def _reap(worker: int, watched: set[signal.Signals], scratch: str, watch: GroupMemory | None) -> NoReturn:
    try:
        _stand_aside()
        status = None
        while status is None and _wait(watched, watch) in (None, signal.SIGCHLD):
            status = _reaped(worker)
            if status is None and watch is not None and watch.over():
                status = _OVER_MEMORY_STATUS
        end_descendants()
        forget(scratch)
        _end_like(signal.SIGKILL if status is None else status)
    except BaseException as error:  # noqa: BLE001 - as above
        _last_words(error)


def _reaped(worker: int) -> int | None:
    """Take all children that have ended; return the wait status of the worker if it was among them."""
    status = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == worker:
                status = found[1]
    return status


def _wait(signals: set[signal.Signals], watch: GroupMemory | None) -> int | None:
    """Wait for one of ``signals``, which are blocked, or until it is time to look at the memory; that is None."""
    if watch is None:
        return signal.sigwait(signals)
    found = signal.sigtimedwait(signals, watch.pause)
    return None if found is None else found.si_signo


def _stand_aside() -> None:
    """Leave the pipes to the worker; let nobody trace this process, and Ctrl-C mean nothing to Python."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    prctl("PR_SET_DUMPABLE", PR_SET_DUMPABLE, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def end_descendants() -> None:
    """End all descendants of this process, a subreaper, and reap them; new ones of a fast starter, too."""
    for _round in range(_ROUNDS):
        for pid in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def forget(scratch: str) -> None:
    """Remove a scratch folder; an empty name is none."""
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def _end_like(status: int) -> NoReturn:
    """End as a process with this wait status did."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # SIGKILL has no disposition
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _last_words(error: BaseException) -> NoReturn:
    why = what_is_scarce(error) or f"{type(error).__name__}: {error}"
    os.write(2, f"the worker's guardian failed: {why}\n".encode(errors="replace"))
    os._exit(70)
