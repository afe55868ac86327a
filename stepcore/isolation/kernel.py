"""The system calls of Linux that Python does not offer, with their errors as :class:`OSError`."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

IS_LINUX: Final = sys.platform.startswith("linux")

# <linux/sched.h>
CLONE_THREAD: Final = 0x00010000
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
CLONE_NEWTIME: Final = 0x00000080
CLONE_NEW: Final = (
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
)  # of clone; CLONE_NEWTIME is for unshare and clone3 only, its bit belongs to the exit signal of clone

# <linux/prctl.h>
PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_CAPBSET_DROP: Final = 24
PR_SET_SECUREBITS: Final = 28
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
# SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, SECBIT_KEEP_CAPS locked off, SECBIT_NO_CAP_AMBIENT_RAISE, all locked
_SECUREBITS: Final = 0b1110_1111
_CAPABILITY_VERSION_3: Final = 0x20080522

MACHINE: Final = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())


@lru_cache(maxsize=1)
def libc() -> Any:
    """Return the C library of this process."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def checked(result: int, what: str) -> int:
    """Return ``result`` of a call of the C library.

    Raises:
        OSError: it is -1; ``what`` was tried.
    """
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def syscall(what: str, number: int, *arguments: Any) -> int:
    """Make a system call; integers become C longs.

    Raises:
        OSError: it failed.
    """
    longs = (ctypes.c_long(item) if isinstance(item, int) else item for item in arguments)
    return checked(libc().syscall(ctypes.c_long(number), *longs), what)


def prctl(what: str, option: int, *arguments: int) -> int:
    """Call ``prctl``.

    Raises:
        OSError: it failed.
    """
    values = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(libc().prctl(option, *values), what)


def unshare(flags: int) -> None:
    """Move this process (with :data:`CLONE_NEWPID` its children) into new namespaces.

    Raises:
        OSError: the kernel or its configuration does not permit it; then nothing has changed.
    """
    checked(libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Call ``mount``.

    Raises:
        OSError: it failed.
    """
    checked(
        libc().mount(
            os.fsencode(source), os.fsencode(target), kind.encode() if kind else None, ctypes.c_ulong(flags),
            data.encode() or None,
        ),
        f"mount {target}",
    )  # fmt: skip


def drop_capabilities() -> None:
    """Give up all capabilities for good: programs that root starts get none, either.

    Raises:
        OSError: it failed.
    """
    for capability in range(64):
        try:
            prctl("PR_CAPBSET_DROP", PR_CAPBSET_DROP, capability)
        except OSError:  # no such capability, or no right to drop from the bounding set, hence none to lose
            break
    with suppress(PermissionError):  # without CAP_SETPCAP there is nothing that the bits would take away
        prctl("PR_SET_SECUREBITS", PR_SET_SECUREBITS, _SECUREBITS)
    prctl("PR_CAP_AMBIENT", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(libc().capset(header, nothing), "capset")
