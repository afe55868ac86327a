# A descriptor that was opened for reading is opened again for writing.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside / "secret.txt", os.O_RDONLY)
    again = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_APPEND)
    return os.write(again, b"out") == 3
