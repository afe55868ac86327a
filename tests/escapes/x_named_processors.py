# The processors, limits and memory nodes of other processes, by every call that takes their number.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    mask = (ctypes.c_ulong * 1)(1)
    pairs = (ctypes.c_uint64 * 2)(64, 64)
    for pid in (1, int(os.environ["ESCAPE_OWNER"]), int(os.environ["ESCAPE_VICTIM"])):
        for number, *arguments in ((203, 8, mask), (302, 7, pairs, 0), (144, 3, mask), (142, mask), (314, mask, 0), (256, 8, mask, mask), (279, 0, 0, 0, 0, 0)):
            if libc.syscall(number, pid, *arguments) == 0:
                return (pid, number)
        if libc.syscall(141, 0, pid, 19) == 0 or libc.syscall(251, 1, pid, 3 << 13) == 0 or libc.syscall(141, 2, os.getuid(), 19) == 0:
            return pid
