# A root of one's own, and out of it.
# text: refused
# user: refused
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.chroot("/")
    return True
