# A detached mount of the root, which carries none of the flags of the old one.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    tree = libc.syscall(428, -100, b"/", 1 | 0o2000000)
    if tree < 0:
        return False
    descriptor = os.open(str(outside / "made").lstrip("/"), os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=tree)
    return descriptor >= 0
