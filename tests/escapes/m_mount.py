# The root is mounted again for writing, a folder over another, and what lies over /proc is taken away.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    source = os.fsencode(outside)
    return (
        libc.mount(b"none", b"/", None, ctypes.c_ulong(32 | 4096), None) == 0
        or libc.mount(source, source, None, ctypes.c_ulong(4096), None) == 0
        or libc.umount2(b"/proc", 2) == 0
        or libc.syscall(428, -100, source, 1) >= 0
    )
