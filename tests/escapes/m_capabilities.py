# The identity of another user, and a new owner for a file.
# text: refused
# user: refused
# needs: capabilities
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for change in (
        lambda: os.setuid(65534), lambda: os.setgroups([0, 4, 27]), lambda: os.chown(outside / "secret.txt", 65534, 65534),
        lambda: os.nice(-5),
    ):
        try:
            change()
            return True
        except OSError:
            continue
