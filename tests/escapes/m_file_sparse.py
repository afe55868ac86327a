# A sparse file in the scratch folder of more than a terabyte.
# text: refused
# user: refused
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    os.truncate(os.open(Path(tempfile.gettempdir()) / "sparse", os.O_CREAT | os.O_RDWR), 1 << 40)
    return True
