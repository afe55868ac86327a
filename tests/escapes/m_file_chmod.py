# The mode of a file outside is changed.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.chmod(outside / "secret.txt", 0o777)
    return True
