# Sockets of every family, and a pair of each kind that could be given an address.
# text: refused
# user: refused
# needs: network
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    found = []
    for family in range(1, 46):
        for kind in (1, 2, 3, 4, 5):
            try:
                found.append((socket.socket(family, kind).family, kind))
            except OSError:
                continue
    for kind in (2, 3):
        try:
            found.append(socket.socketpair(socket.AF_UNIX, kind))
        except OSError:
            continue
    return found
