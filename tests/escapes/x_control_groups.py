# A control group of one's own, and out of the one that limits the machine's services.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup/memory")):
        for change in (lambda: (root / "stepsmith-escape").mkdir(), lambda: (root / "cgroup.procs").write_text(str(os.getpid()))):
            try:
                change()
                return str(root)
            except OSError:
                continue
