# Memory that the kernel holds: tables of pages for terabytes that are only read.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
import time
from pathlib import Path

PRIVATE, ANONYMOUS, NO_RESERVE = 2, 0x20, 0x4000


def attempt(outside: Path) -> object:
    wanted = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2
    size = wanted << 9  # a table of 4 KB for each 2 MB
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    place = libc.mmap(None, size, 1, PRIVATE | ANONYMOUS | NO_RESERVE, -1, 0)
    if place in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), "refused")
    libc.madvise(place, size, 15)  # no huge pages: those need no tables
    for at in range(0, size, 2 << 20):
        ctypes.c_char.from_address(place + at).value
    time.sleep(1.0)
    return True
