# A file is renamed, and a folder exchanged.
# text: refused
# user: refused
# needs: files
import ctypes
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    here = Path(tempfile.mkdtemp())
    (here / "file").write_text("out")
    os.rename(here / "file", outside / "renamed")
    return True
