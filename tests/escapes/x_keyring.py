# A key of the session, which others of the user can read.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(248 if os.uname().machine == "x86_64" else 217, b"user", b"stepsmith", b"out", 3, -4) > 0
