# More text at the end of a file outside.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    with open(outside / "secret.txt", "a") as file:
        file.write("more")
    return True
