# A secret is linked into the scratch folder and read there.
# text: refused
# user: refused
# needs: files
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    here = Path(tempfile.gettempdir())
    os.link(outside / "secret.txt", here / "linked")
    return (here / "linked").read_text()
