# Files of the system that tell about users.
# text: refused
# user: allowed
# needs: files
from pathlib import Path


def attempt(outside: Path) -> object:
    return Path("/etc/passwd").read_text()
