"""Looking at other processes: whether they run, and whose they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

# Seconds that anything may take which has to happen. On a busy machine much takes long, and nobody waits longer than
# it takes: that it happens is asserted, never how soon.
PATIENCE: Final = 300.0


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def eventually(condition: Callable[..., bool], seconds: float = PATIENCE) -> bool:
    """Wait until something holds; False where it does not in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def descendants(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started, those that these have started, and so on."""
    return [process for child in children(pid) for process in (child, *descendants(child))]


def worked(pid: int) -> float:
    """Return the seconds of processor time that a process and all that it has started have taken, ended ones too."""
    ticks = 0
    for process in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of its own for a signal; one that has none is ended by it, as by SIGKILL."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == pid:
            found.append(int(stat.parent.name))
    return found
