# A file outside is emptied.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.truncate(outside / "secret.txt", 0)
    return True
