# A datagram without a connection, and one to the broadcast address.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    sock.sendto(b"out", ("127.0.0.1", int(os.environ["ESCAPE_UDP"])))
    return False  # the listener tells whether it arrived
