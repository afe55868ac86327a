# Memory, priority and profile of the machine below /sys and /proc/sys, and this process's own chance to be ended.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for path in ("/sys/kernel/mm/transparent_hugepage/enabled", "/proc/self/oom_score_adj", "/proc/self/autogroup", "/proc/self/loginuid",
                 "/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/clear_warn_once", "/proc/sys/kernel/ns_last_pid",
                 "/proc/sys/user/max_user_namespaces", "/proc/sys/net/ipv4/ping_group_range", "/proc/sys/fs/mqueue/msg_max",
                 "/proc/sys/kernel/hostname", "/proc/self/setgroups", "/proc/self/attr/current", "/sys/power/state"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            return path
        except OSError:
            continue
