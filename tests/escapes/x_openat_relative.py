# A file is made relative to a descriptor of the root.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    root = os.open("/", os.O_RDONLY)
    name = str(outside).lstrip("/") + "/made"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=root)
    os.write(descriptor, b"out")
    return True
