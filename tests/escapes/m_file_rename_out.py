# A file outside is moved into the scratch folder.
# text: refused
# user: refused
# needs: files
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    os.rename(outside / "secret.txt", Path(tempfile.gettempdir()) / "mine")
    return True
