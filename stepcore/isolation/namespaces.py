"""Namespaces: a worker's own process ids, network, shared memory and mounts, without privileges."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from stepcore.isolation.kernel import CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, unshare
from stepcore.isolation.policy import Isolation

_NAMES: Final = {CLONE_NEWPID: "PID", CLONE_NEWIPC: "IPC", CLONE_NEWNS: "mount", CLONE_NEWNET: "network"}


def separate(isolation: Isolation) -> frozenset[str]:
    """Move this process into namespaces of its own; its next child is the first of the PID namespace.

    Returns the names of those that were made ("PID", "network", "mount", "IPC").

    Raises:
        OSError: none is permitted; then nothing has changed.
    """
    wanted = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | (0 if isolation.network else CLONE_NEWNET)
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWUSER | wanted)
    except OSError:
        if user != 0:
            raise
        unshare(wanted)  # root of a container without user namespaces
    else:
        with suppress(FileNotFoundError):
            _write("setgroups", "deny")
        # The same ids inside: files keep their owners, and only the user's own are reached with the user's rights.
        _write("uid_map", f"{user} {user} 1")
        _write("gid_map", f"{group} {group} 1")
    return frozenset(name for flag, name in _NAMES.items() if wanted & flag)


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(text)
