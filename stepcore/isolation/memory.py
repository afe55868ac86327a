"""The memory of a worker and of all that it started, together.

The limit of a process's data (``RLIMIT_DATA``) counts neither stacks nor what several processes have or share, nor what
the kernel holds for them. So stacks and descriptors get limits of their own, the filter of calls refuses memory that
lies in no file, and whoever watches over the worker looks at the sum of the rest: :class:`GroupMemory`. Control groups
would count it all, but they are given to administrators and to services only.

Sources: the kernel's ``Documentation/filesystems/proc.rst`` and ``mm/vma.c`` (what ``RLIMIT_DATA`` counts).
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from stepcore.system.processes import descendants

_MOST_STACK: Final = 64 << 20  # bytes
_PLAIN_STACK: Final = 8 << 20  # where there was no limit: what systems begin with
_MOST_DESCRIPTORS: Final = 1024
# Beyond the limit: pages of files that were written before they were protected, tables of pages.
_SLACK: Final = 64 << 20
_FEW_DESCRIPTORS: Final = 128  # of all processes together, which are not counted
_BUFFERS: Final = 416 << 10  # bytes that the kernel holds at most behind a socket (twice net.core.wmem_max)

_ALONE: Final = 0.1  # seconds between two looks at a worker that has started nothing
_TOGETHER: Final = 0.02  # and at one that has: a processor fills some 50 MB meanwhile
_CPUCLOCK_SCHED: Final = 2
_SHARE: Final = 4  # times the time that a look took, at least, until the next one

_OF_STATUS: Final = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:")
_OF_SHARES: Final = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")


def limit_what_data_leaves_out() -> None:
    """Limit the stack and the descriptors of this process and of all that it starts; for good."""
    for what, most, plain in (
        (resource.RLIMIT_STACK, _MOST_STACK, _PLAIN_STACK),
        (resource.RLIMIT_NOFILE, _MOST_DESCRIPTORS, _MOST_DESCRIPTORS),
    ):
        soft, hard = resource.getrlimit(what)
        hard = most if hard == resource.RLIM_INFINITY else min(hard, most)
        soft = min(plain, hard) if soft == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(what, (soft, hard))


class GroupMemory:
    """Looks whether all processes below this one hold more memory than one of them is allowed.

    The first of them is the worker; its own limit, ``shares`` times, holds for all of them together. Before it has one
    nothing is counted. Made by the process that watches, or by its parent. ``folders`` are those that may be written:
    what is written there counts where they lie in memory.
    """

    def __init__(self, folders: Iterable[str], shares: int) -> None:
        self._in_memory = {folder: _used(folder) for folder in folders if _lies_in_memory(folder)}
        self._shares = shares
        self._limit: int | None = None
        self._next = 0.0  # time of the next look
        self._pause = _ALONE
        self._alone: tuple[int, int] | None = None  # the worker, and how long it had run, where it was alone

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return max(self._next - time.monotonic(), 0.001)

    def over(self) -> bool:
        """Return whether the limit is passed; looks when it is time to."""
        begun = time.monotonic()
        if begun < self._next:
            return False
        if self._alone is not None and _run_time(self._alone[0]) == self._alone[1]:
            self._next = begun + _ALONE  # who has not run has neither taken memory nor started anybody
            return False
        found = self._look()
        ended = time.monotonic()
        self._next = ended + max(self._pause, _SHARE * (ended - begun))
        return found

    def _look(self) -> bool:
        watched = _watched()
        # Asked before anything is counted: whatever the worker does from here on, the next look sees.
        ran = _run_time(watched[0]) if len(watched) == 1 else None
        self._alone = None if ran is None else (watched[0], ran)
        self._pause = _ALONE if len(watched) < 2 else _TOGETHER
        if self._limit is None and watched:
            self._limit = _data_limit(watched[0])
        if self._limit is None:
            return False
        written = sum(_used(folder) - before for folder, before in self._in_memory.items())
        allowed = self._shares * (self._limit + _SLACK) - written
        at_most = sum(map(_resident, watched)) + _buffers(sum(map(_open_descriptors, watched)))
        if at_most <= allowed:
            return False
        return _held_together(watched) > allowed  # takes longer: what several have counts once


def _watched() -> list[int]:
    """Return the processes below this one, as its ``/proc`` names them."""
    own = int(os.readlink("/proc/self"))  # noqa: PTH115
    if own == 1:  # the first of a namespace: all others are below it, also those whose parents have just ended
        return sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1")  # noqa: PTH208
    return descendants(own)


def _run_time(process: int) -> int | None:
    """Return the nanoseconds that all threads of a process have run, to the last one; None for one that is gone.

    Source: ``clock_getcpuclockid(3)`` of the C library, and ``posix-timers.h`` of the kernel.
    """
    with suppress(OSError):
        if int(os.readlink("/proc/self")) == os.getpid():  # noqa: PTH115 - else /proc has other numbers than the clocks
            return time.clock_gettime_ns((~process << 3) | _CPUCLOCK_SCHED)
    return None


def _data_limit(process: int) -> int | None:
    with suppress(OSError), open(f"/proc/{process}/limits", "rb") as limits:  # noqa: PTH123
        for line in limits:
            if line.startswith(b"Max data size"):
                hard = line.split()[4]
                return int(hard) if hard.isdigit() else None
    return None


def _resident(process: int) -> int:
    """Return how many bytes a process holds at most, quickly: what it has in common with others counts in full."""
    return _sum_of(f"/proc/{process}/status", _OF_STATUS)


def _held_together(processes: Iterable[int]) -> int:
    """Return the bytes that processes hold, with what the kernel holds behind their sockets and pipes; what several
    have counts once, but for those that hide what they have.
    """
    held, hidden, ends = 0, 0, set[str]()
    for process in processes:
        try:
            share = _sum_of(f"/proc/{process}/smaps_rollup", _OF_SHARES, told=False)
            opened = _sockets_and_pipes(process)
        except OSError:
            held += _resident(process)
            hidden += _open_descriptors(process)
        else:
            held += share + _sum_of(f"/proc/{process}/status", (b"VmPTE:",))
            ends |= opened
    return held + _buffers(len(ends) + hidden)


def _sockets_and_pipes(process: int) -> set[str]:
    folder = f"/proc/{process}/fd"
    names = {os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}  # noqa: PTH115, PTH208
    return {name for name in names if name.startswith(("socket:", "pipe:"))}


def _sum_of(path: str, names: tuple[bytes, ...], told: bool = True) -> int:
    """Return the sum in bytes of lines that a file of ``/proc`` gives in kB; 0 for a process that is gone.

    Raises:
        OSError: it may not be read, and ``told`` is false.
    """
    try:
        with open(path, "rb") as lines:  # noqa: PTH123
            return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))
    except OSError:
        if told:
            return 0
        raise


def _open_descriptors(process: int) -> int:
    """Return how many a process has open; 0 before Linux 6.2, which began to tell."""
    try:
        return os.stat(f"/proc/{process}/fd").st_size  # noqa: PTH116
    except OSError:
        return 0


def _buffers(descriptors: int) -> int:
    return max(descriptors - _FEW_DESCRIPTORS, 0) * _BUFFERS


def _lies_in_memory(folder: str) -> bool:
    """Return whether a folder is part of a tmpfs."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116
        if os.major(device):  # a disk
            return False
        number = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:  # noqa: PTH123
            fields = [line.split() for line in mounts]
    except OSError:
        return False
    return any(line[2] == number and line[line.index("-") + 1] == "tmpfs" for line in fields)


def _used(folder: str) -> int:
    try:
        facts = os.statvfs(folder)
    except OSError:
        return 0
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize
