# A socket without a path in the file system.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(b"\0" + os.environ["ESCAPE_ABSTRACT"].encode())
    return True
