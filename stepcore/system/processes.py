"""Which processes a process has started, as Linux tells it in ``/proc``."""

from __future__ import annotations

import os
from contextlib import suppress


def descendants(root: int) -> list[int]:
    """Return the processes that ``root`` or one of its descendants has started, nearest first, as far as their parents
    are alive.
    """
    found: list[int] = []
    parents = _parents() if not os.path.exists(f"/proc/{root}/task/{root}/children") else None  # noqa: PTH110
    waiting = [root]
    for process in waiting:  # grows
        for child in _children(process) if parents is None else parents.get(process, []):
            if child not in found:
                found.append(child)
                waiting.append(child)
    return found


def _children(process: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
            with suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as children:  # noqa: PTH123
                found += map(int, children.read().split())
    return found


def _parents() -> dict[int, list[int]]:
    """Return the children of all processes, for kernels that do not list them (CONFIG_PROC_CHILDREN)."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123
                children.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(name))
    return children
