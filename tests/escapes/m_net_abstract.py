# An abstract unix socket, which no file permission guards.
# text: refused
# user: refused
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("\0" + os.environ["ESCAPE_ABSTRACT"])
    return True
