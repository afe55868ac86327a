"""What the system ran out of: one sentence with a way out, for errors that say no more than a number."""

from __future__ import annotations

import errno
from typing import Final

_PROCESSES: Final = (
    "the system starts no more processes or threads for this user (`ulimit -u` shows how many); end some of them"
)
_MEANINGS: Final = {
    errno.EAGAIN: _PROCESSES,
    errno.ENOMEM: "the system has no memory left; end other programs, or use smaller sizes",
    errno.ENOSPC: "no space left on the disk; free some, or name a place on another one",
    errno.EDQUOT: "your quota of the disk is used up; free some space, or name a place on another one",
    errno.EFBIG: "the file would be larger than the system lets this process write (`ulimit -f` shows how large)",
    errno.EMFILE: "this process has as many files open as the system lets it (`ulimit -n` shows how many); close some",
    errno.ENFILE: "the system has as many files open as it can have; end other programs",
}
_NO_SEGMENT: Final = "failed to map segment"  # of a library for which there is no room
_NO_THREAD: Final = "can't start new thread"


def what_is_scarce(error: BaseException) -> str:
    """Return what the system lacks where ``error`` is about that; an empty text for any other error."""
    if isinstance(error, MemoryError) or (isinstance(error, ImportError) and _NO_SEGMENT in str(error)):
        return _MEANINGS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _PROCESSES
    return _MEANINGS.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def reason_of(error: OSError) -> str:
    """Return why a call of the system failed, as part of a sentence."""
    return what_is_scarce(error) or (error.strerror or str(error)).lower()
