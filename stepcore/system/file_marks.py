"""Marks of files, by which one that changed is told from one that did not."""

from __future__ import annotations

import hashlib
import os
import stat

_CACHES = frozenset({"__pycache__"})  # Python's own, which change nothing
_WHOLE = 1 << 20  # bytes up to which a mark follows the content


def mark_of(path: str) -> str:
    """Return a text that is another one when the file is; empty where there is none that can be read.

    The mark of a file of more than 1 MiB follows its length and the time of its last change only, that of a folder the
    names in it.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - it is called for each file that a run opens
        if stat.S_ISDIR(found.st_mode):
            return _digest("\0".join(sorted({*os.listdir(path)} - _CACHES)).encode("utf-8", "surrogateescape"))  # noqa: PTH208
        if not stat.S_ISREG(found.st_mode):
            return ""
        if found.st_size > _WHOLE:
            return f"{found.st_size} {found.st_mtime_ns}"
        with open(path, "rb") as file:  # noqa: PTH123
            return _digest(file.read(_WHOLE + 1))
    except (OSError, ValueError):
        return ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
