# The scratch folder is filled with many files, together more than 2 GB.
# text: refused
# user: refused
# needs: scratch
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    block = b"x" * (8 << 20)
    for number in range(270):
        (Path(tempfile.gettempdir()) / f"part{number}").write_bytes(block)
    return True
