# Data travels with the first packet of a connection: no connect is called.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.sendto(b"out", 0x20000000, ("127.0.0.1", int(os.environ["ESCAPE_TCP"])))
    return False  # the listener tells whether it arrived
