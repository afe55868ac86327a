# An extended attribute is put on a file outside.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.setxattr(outside / "secret.txt", "user.mark", b"out")
    return True
