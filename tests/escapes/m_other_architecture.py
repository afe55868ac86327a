# Calls of another table of the processor, where the numbers mean something else.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(0x40000000 | 39) > 0
