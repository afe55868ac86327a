"""The memory of this process: what it has allocated, and a limit to that which it can raise again.

Only on Linux, which counts the data segment and private anonymous maps together (``RLIMIT_DATA``); elsewhere nothing
is limited. Only the soft limit is set, so a child process can return to what its owner was given.
"""

from __future__ import annotations

import os
import sys
from typing import Final

# For child processes: the soft limit in bytes before :func:`limit_beyond_now` set another one; -1 for none.
OUTER_VARIABLE: Final = "STEPSMITH_OUTER_DATA_LIMIT"


def data_bytes() -> int:
    """Return how much this process has allocated of what the limit counts."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        for line in status:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def limit_beyond_now(extra: int) -> bool:
    """Allow ``extra`` bytes beyond what is allocated now; return whether the system can do that.

    Allocating more raises MemoryError. The environment then tells children what the limit was before.
    """
    if not sys.platform.startswith("linux"):
        return False
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = min([data_bytes() + extra, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
    os.environ.setdefault(OUTER_VARIABLE, str(soft))
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    return True


def leave_limit_of_owner() -> None:
    """Return to the soft limit that the owner of this process had before it set one of its own, if it did."""
    outer = os.environ.pop(OUTER_VARIABLE, None)
    if outer is None or not sys.platform.startswith("linux"):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = int(outer)
    if hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard):
        soft = hard
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
