"""A worker's own view of the file system: read-only but for its folders, with its own ``/proc`` and ``/dev/shm``."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from ctypes import c_char_p
from typing import Final

from stepcore.isolation.kernel import mount, syscall
from stepcore.isolation.policy import Report

SHARED_MEMORY: Final = "/dev/shm"
SCRATCH_BYTES: Final = 256 << 20
# Processes and threads of one worker, beyond those that libraries start for each CPU.
_PROCESSES: Final = 1024

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_EMPTY_PATH, _OPEN_TREE_CLONE, _BOTH_EMPTY_PATHS = 0x1000, 1, 0x44
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_ATTR_RDONLY: Final = 1


def private_shared_memory(*, programs: bool, report: Report) -> bool:
    """Mount a private ``/dev/shm`` of bounded size in this process's own mount namespace; False where that is refused.

    ``programs`` that lie there may be started.
    """
    flags = _MS_NOSUID | _MS_NODEV | (0 if programs else _MS_NOEXEC)
    try:
        mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, f"size={SCRATCH_BYTES},mode=700,nr_inodes=65536")
    except OSError as error:
        report.lack("scratch", f"its size is not limited ({error.strerror})")
        return False
    report.add("scratch", f"tmpfs of at most {SCRATCH_BYTES >> 20} MiB")
    return True


def arrange(folders: Sequence[str], kept: Sequence[str], report: Report) -> None:
    """Make all mounts of this process's own mount namespace read-only but ``folders``, and ``/proc`` its own.

    ``kept`` are places below ``folders`` that stay read-only, and where they are.
    """
    try:
        mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        replaceable = _protect(folders, kept)
        report.add("files", "read-only mounts")
        if replaceable:
            report.lack("files", f"{', '.join(replaceable)} can be replaced")
    except OSError as error:
        report.lack("files", f"mounts stay writable ({error.strerror}: {error.filename})")
    _own_processes(report)


def _protect(folders: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Make all mounts read-only, and those folders writable that were, but for ``kept``.

    A mount cannot be renamed, but the folder around it can: so those between become mounts, too. Returns the links of
    ``kept`` that the system does not let be mounts.
    """
    for folder in folders:
        mount(folder, folder, None, _MS_BIND | _MS_REC)
    links = {place for place in kept if os.path.islink(place)}  # noqa: PTH114
    around = (parent for place in kept for parent in _parents(place, folders))
    for place in sorted({*kept, *around}):  # the outer ones first
        if place not in links:
            mount(place, place, None, _MS_BIND | _MS_REC)
    replaceable = [link for link in sorted(links) if not _is_pinned(link)]
    _set_attributes("/", _ATTR_RDONLY, 0)
    for folder in folders:
        _set_attributes(folder, 0, _ATTR_RDONLY)
    for place in kept:
        if place not in links:
            _set_attributes(place, _ATTR_RDONLY, 0)
    os.chdir(os.getcwd())  # noqa: PTH109 - into the mount that now lies there
    return replaceable


def _is_pinned(link: str) -> bool:
    """Mount a symbolic link on itself, so that it can be neither removed nor renamed; False where that is refused."""
    place = os.open(link, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        tree = syscall("open_tree", _OPEN_TREE, place, c_char_p(b""), _AT_EMPTY_PATH | _OPEN_TREE_CLONE)
        try:
            syscall("move_mount", _MOVE_MOUNT, tree, c_char_p(b""), place, c_char_p(b""), _BOTH_EMPTY_PATHS)
        finally:
            os.close(tree)
    except OSError:
        return False
    finally:
        os.close(place)
    return True


def _parents(place: str, folders: Sequence[str]) -> Iterator[str]:
    """Yield what lies between a place and the folder that holds it."""
    parent = os.path.dirname(place)  # noqa: PTH120
    while parent not in folders and len(parent) > 1:
        yield parent
        parent = os.path.dirname(parent)  # noqa: PTH120


def _own_processes(report: Report) -> None:
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    try:
        mount("proc", "/proc", "proc", flags)
    except OSError as error:  # some containers cover parts of /proc
        report.lack("processes", f"others can be listed in /proc ({error.strerror})")
        return
    try:
        with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as limit:  # noqa: PTH123
            limit.write(str(_PROCESSES + 16 * (os.cpu_count() or 1)))
        report.add("processes", "a limit on their number")
    except OSError:  # before Linux 6.14 it belonged to the whole machine
        report.lack("processes", "their number is limited by the memory only")
    mount("proc", "/proc", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def _set_attributes(path: str, wanted: int, unwanted: int) -> None:
    attributes = struct.pack("=4Q", wanted, unwanted, 0, 0)
    syscall(
        "mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, c_char_p(os.fsencode(path)), _AT_RECURSIVE, c_char_p(attributes),
        len(attributes),
    )  # fmt: skip
