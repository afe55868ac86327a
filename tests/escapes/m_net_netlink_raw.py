# Routing tables, raw packets, the link layer, and other families.
# text: refused
# user: refused
# needs: calls
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    for family, kind, number in ((16, 3, 0), (2, 3, 1), (17, 3, 768), (40, 1, 0), (38, 5, 0), (10, 3, 58), (29, 3, 1), (1, 2, 0)):
        try:
            socket.socket(family, kind, number).close()
            return (family, kind)
        except OSError:
            continue
