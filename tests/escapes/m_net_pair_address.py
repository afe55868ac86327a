# One of a pair of datagram sockets sends to an address of its own choice.
# text: refused
# user: refused
# needs: calls
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    left, _right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.sendto(b"out", os.environ["ESCAPE_UNIX"])
    return True
