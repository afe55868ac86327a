# A folder of ours is exchanged with one outside by renameat2.
# text: refused
# user: refused
# needs: files
import ctypes
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    here = tempfile.mkdtemp()
    return libc.renameat2(-100, here.encode(), -100, str(outside / "locked").encode(), 2) == 0
