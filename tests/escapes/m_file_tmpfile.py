# A nameless file is made outside and linked to a name.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"out")
    os.link(f"/proc/self/fd/{descriptor}", outside / "mark", follow_symlinks=True)
    return True
