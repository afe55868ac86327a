# A shared map of a file outside is made writable afterwards.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    descriptor = os.open(outside / "secret.txt", os.O_RDONLY)
    place = libc.mmap(None, 4096, 1, 1, descriptor, 0)
    if place in (None, ctypes.c_void_p(-1).value) or libc.mprotect(ctypes.c_void_p(place), 4096, 3) != 0:
        return False
    ctypes.memmove(place, b"out", 3)
    return True
