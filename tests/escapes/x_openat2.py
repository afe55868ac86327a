# A file is made outside by openat2, whose flags lie in memory.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (0, 0x10, 0x08):
        folder = os.open("/", os.O_PATH)
        how = (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_CREAT, 0o600, flags)
        if libc.syscall(437, folder, os.fsencode(str(outside / "made").lstrip("/")), how, 24) >= 0:
            return True
