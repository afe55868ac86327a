# A namespace is asked for with clone3, whose flags lie in memory.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (0x10000000, 0x10000000 | 0x00020000, 0x40000000, 0x80):
        found = libc.syscall(435, (ctypes.c_uint64 * 11)(flags, 0, 0, 0, 17), 88)
        if found == 0:
            os._exit(0)
        if found > 0:
            return True
