# Memory that is written, then protected: no limit of a process's data counts it.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    part, held = 64 << 20, 0
    while held < int(os.environ["ESCAPE_MEMORY"]) * 3 // 2:
        place = libc.mmap(None, part, 3, 0x22, -1, 0)
        ctypes.memset(place, 1, part)
        libc.mprotect(ctypes.c_void_p(place), part, 1)
        held += part
    time.sleep(1.0)
    return held
