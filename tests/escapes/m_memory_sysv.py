# Memory in segments of System V, attached to no process.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    wanted, size = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, 64 << 20
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    held = 0
    while held < wanted:
        segment = libc.shmget(0, ctypes.c_size_t(size), 0o600 | 0o1000)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "refused")
        place = libc.shmat(segment, None, 0)
        if place in (None, 2**64 - 1):
            raise OSError(ctypes.get_errno(), "refused")
        ctypes.memset(place, 1, size)
        libc.shmdt(ctypes.c_void_p(place))
        libc.shmctl(segment, 0, None)
        held += size
    return held
