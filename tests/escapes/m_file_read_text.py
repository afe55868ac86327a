# A file of the user is read by what handles text only.
# text: refused
# user: allowed
# needs: files
from pathlib import Path


def attempt(outside: Path) -> object:
    return (outside / "secret.txt").read_text()
