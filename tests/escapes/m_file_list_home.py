# The user's files are listed by what handles text only.
# text: refused
# user: allowed
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    return os.listdir(outside)
