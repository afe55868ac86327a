# A connection by TCP.
# text: refused
# user: refused
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    with socket.create_connection(("127.0.0.1", int(os.environ["ESCAPE_TCP"])), 3) as link:
        link.sendall(b"out")
    return True
