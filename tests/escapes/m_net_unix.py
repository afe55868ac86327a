# A unix socket of another process, such as those of containers, keys and desktops.
# text: refused
# user: refused
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.environ["ESCAPE_UNIX"])
        link.sendall(b"out")
    return True
