# The limits and the scheduling of another process are changed.
# text: refused
# user: refused
# needs: processes
import os
import resource
from pathlib import Path


def attempt(outside: Path) -> object:
    for pid in (int(os.environ["ESCAPE_VICTIM"]), int(os.environ["ESCAPE_OWNER"])):
        for change in (
            lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64)),
            lambda: os.sched_setaffinity(pid, {0}),
            lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        ):
            try:
                change()
                return pid
            except OSError:
                continue
