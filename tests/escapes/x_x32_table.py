# The second table of calls: tracing and mounting under other numbers.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return any(libc.syscall(0x40000000 | number, 0, 0, 0, 0) == 0 for number in (521, 101, 272, 165))
