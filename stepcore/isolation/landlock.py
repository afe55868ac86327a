"""Landlock: which files a process may read and write, whom it may connect to and signal.

Source: the kernel's ``Documentation/userspace-api/landlock.rst`` and ``<linux/landlock.h>``.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

from stepcore.isolation.kernel import IS_LINUX, syscall

_CREATE_RULESET: Final = 444  # the same numbers on all architectures
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_RULE_PATH_BENEATH: Final = 1

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_TRUNCATE: Final = 1 << 14
_IOCTL_DEV: Final = 1 << 15
# The rights that each version of the interface knows, beginning with 1.
_RIGHTS: Final = (0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF, 0xFFFF)
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Making devices is nothing that a worker needs anywhere.
_MAKE_DEVICES: Final = 1 << 6 | 1 << 11

READ: Final = _READ_FILE | _READ_DIR
RUN: Final = READ | _EXECUTE
WRITE: Final = _RIGHTS[-1] & ~_MAKE_DEVICES & ~_IOCTL_DEV
DEVICE: Final = _READ_FILE | _WRITE_FILE | _IOCTL_DEV

_NET: Final = 0b11  # bind and connect with TCP, from version 4
_SCOPES: Final = 0b11  # abstract unix sockets and signals, from version 6


def version() -> int:
    """Return the version of the interface that this kernel offers; 0 where there is none."""
    if not IS_LINUX:
        return 0
    try:
        return syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:  # not built in, or switched off at boot
        return 0


def restrict(paths: Iterable[tuple[str, int]], *, network: bool) -> None:
    """Allow this thread, and what it starts from now on, only what ``paths`` (path, rights) allow; for good.

    Paths that do not exist are left out. ``network`` allows TCP. Needs ``no_new_privs`` and a :func:`version`.

    Raises:
        OSError: the kernel refuses it.
    """
    known = version()
    rights = _RIGHTS[min(known, len(_RIGHTS)) - 1]
    fields = [rights]
    if known >= 4:
        fields.append(0 if network else _NET)
    if known >= 6:
        fields.append(_SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = syscall("landlock_create_ruleset", _CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)
    try:
        for path, allowed in paths:
            _allow(ruleset, path, allowed & rights)
        syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            allowed &= _OF_FILES
        rule = struct.pack("=Qi", allowed, place)
        syscall("landlock_add_rule", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(place)
