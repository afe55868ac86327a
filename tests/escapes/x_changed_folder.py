# The working directory is moved outside, by name and by descriptor, and a file made there.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside, os.O_RDONLY)
    for move in (lambda: os.chdir(outside), lambda: os.fchdir(descriptor)):
        try:
            move()
            with open("made", "w") as file:
                file.write("out")
            return True
        except OSError:
            continue
