# A folder outside is opened with O_PATH, and a file made below it.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside, os.O_PATH | os.O_DIRECTORY)
    os.close(os.open("mark", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=descriptor))
    return True
