# A user namespace of one's own, with all capabilities in it.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(0x10000000) == 0 or libc.unshare(0x00020000) == 0
