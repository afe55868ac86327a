# A connection through the C library, without Python's sockets.
# text: refused
# user: refused
# needs: network
import ctypes
import os
import struct
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(2, 1, 0)
    address = struct.pack("!H4s8x", int(os.environ["ESCAPE_TCP"]), bytes([127, 0, 0, 1]))
    address = struct.pack("H", 2) + address
    if libc.connect(descriptor, address, len(address)) != 0:
        return False
    return libc.send(descriptor, b"out", 3, 0) == 3
