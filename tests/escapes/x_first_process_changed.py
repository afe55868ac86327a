# The first process of the namespace is changed: its memory, its chance to be ended, its limits.
# text: refused
# user: refused
# needs: files
import os
import resource
from pathlib import Path


def attempt(outside: Path) -> object:
    for pid in {1, os.getppid()} - {0}:
        for name, text in (("oom_score_adj", "1000"), ("timerslack_ns", "1"), ("coredump_filter", "0"), ("comm", "x"), ("clear_refs", "1"), ("autogroup", "0"), ("mem", "x")):
            try:
                Path(f"/proc/{pid}/{name}").write_text(text)
                return f"{pid} {name}"
            except OSError:
                continue
        try:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
            return pid
        except OSError:
            continue
