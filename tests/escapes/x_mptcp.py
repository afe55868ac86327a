# A stream of another protocol number.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    for family, kind, protocol in ((2, 1, 262), (2, 5, 132), (2, 1, 132), (2, 6, 33)):
        try:
            sock = socket.socket(family, kind, protocol)
            sock.connect(("127.0.0.1", int(os.environ["ESCAPE_TCP"])))
            return True
        except OSError:
            continue
    return False
