# A file outside is deleted.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    (outside / "secret.txt").unlink()
    return True
