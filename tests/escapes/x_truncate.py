# A file is cut without being opened.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    os.truncate(outside / "secret.txt", 0)
    return True
