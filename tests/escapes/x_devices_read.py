# A disk is read past its files, and the kernel's log and memory.
# text: refused
# user: refused
# needs: files
import os
import stat
from pathlib import Path


def attempt(outside: Path) -> object:
    for path in (*Path("/dev").iterdir(), Path("/proc/kcore"), Path("/proc/kmsg")):
        try:
            mode = path.stat().st_mode
            if stat.S_ISBLK(mode) or path.name in ("mem", "kmem", "kmsg", "port", "kcore"):
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                if os.read(descriptor, 4096):
                    return str(path)
        except OSError:
            continue
