# A connection by TCP, past Python's own sockets.
# text: refused
# user: refused
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    import ctypes
    import struct

    libc = ctypes.CDLL(None, use_errno=True)
    link = libc.socket(2, 1, 0)
    address = struct.pack("=H", 2) + struct.pack(">H", int(os.environ["ESCAPE_TCP"])) + bytes([127, 0, 0, 1]) + bytes(8)
    return link >= 0 and libc.connect(link, address, 16) == 0
