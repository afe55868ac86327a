"""Marks of files, by which one that changed is told from one that did not."""

from __future__ import annotations

import hashlib
import os
import stat

_WHOLE = 1 << 20  # bytes up to which a mark follows the content


def mark_of(path: str) -> str:
    """Return a text that is another one when the file is; empty where there is none that can be read.

    The mark of a file of more than 1 MiB follows its length and the time of its last change only.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - it is called for each file that a run opens
        if not stat.S_ISREG(found.st_mode):
            return ""
        if found.st_size > _WHOLE:
            return f"{found.st_size} {found.st_mtime_ns}"
        with open(path, "rb") as file:  # noqa: PTH123
            return hashlib.sha256(file.read(_WHOLE + 1)).hexdigest()[:16]
    except (OSError, ValueError):
        return ""
