# A port is opened on which others may call.
# text: refused
# user: refused
# needs: calls
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    with socket.socket() as link:
        link.bind(("127.0.0.1", 0))
        link.listen()
    return True
