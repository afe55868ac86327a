# A child in a user namespace of its own, by clone and by clone3.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    child = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child > 0:
        return True
    arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
    child = libc.syscall(435, arguments, 88)
    if child == 0:
        os._exit(0)
    return child > 0
