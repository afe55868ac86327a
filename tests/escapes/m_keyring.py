# Keys of the user's session.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(248, b"user", b"stepsmith-escape", b"out", 3, -3) > 0 or libc.syscall(250, 0, -3, 0) > 0
