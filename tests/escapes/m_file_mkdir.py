# A folder is made outside, another one removed.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for change in (lambda: (outside / "new").mkdir(), lambda: (outside / "locked").rmdir()):
        try:
            change()
            return True
        except OSError:
            continue
