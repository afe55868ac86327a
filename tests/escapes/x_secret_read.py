# The secret is read: plainly, by a map, by a copy in the kernel.
# text: refused
# user: allowed
# needs: files
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    target = str(outside / "secret.txt")
    here = tempfile.mkdtemp() + "/copy"
    for read in (
        lambda: Path(target).read_text(),
        lambda: str(__import__("torch").from_file(target, dtype=__import__("torch").uint8, size=16)),
        lambda: os.sendfile(os.open(here, os.O_RDWR | os.O_CREAT), os.open(target, os.O_RDONLY), 0, 100),
    ):
        try:
            return read()
        except (OSError, RuntimeError):
            continue
    return False
