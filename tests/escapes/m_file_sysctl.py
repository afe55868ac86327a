# Switches of the kernel below /proc/sys, /sys and /proc/self.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/proc/self/oom_score_adj",
                 "/sys/kernel/mm/ksm/run", "/proc/self/uid_map", "/proc/1/oom_score_adj", "/proc/sys/kernel/pid_max"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            return path
        except OSError:
            continue
