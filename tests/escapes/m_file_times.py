# The times of a file outside are changed.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.utime(outside / "secret.txt", (1, 1))
    return True
