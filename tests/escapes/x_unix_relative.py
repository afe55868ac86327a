# A listening socket is reached by a path of /proc/self/cwd.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    path = Path(os.environ["ESCAPE_UNIX"])
    os.chdir(path.parent)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path.name)
    sock.send(b"out")
    return True
