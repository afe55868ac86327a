# Files and pipes of the owner that the worker was given by accident.
# text: refused
# user: refused
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if not target.startswith(("pipe:", "/dev/null", "/proc/", "anon_inode:")):
            found.append(target)
    return found
