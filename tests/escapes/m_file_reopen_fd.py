# A file outside that may be read is opened again for writing through /proc/self/fd.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside / "secret.txt", os.O_RDONLY)
    again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR)
    os.write(again, b"out")
    return True
