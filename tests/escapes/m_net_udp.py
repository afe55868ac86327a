# A datagram.
# text: refused
# user: refused
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        return link.sendto(b"out", ("127.0.0.1", int(os.environ["ESCAPE_UDP"])))
