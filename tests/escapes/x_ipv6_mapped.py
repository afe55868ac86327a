# An IPv4 address in the clothes of IPv6.
# text: refused
# user: refused
# needs: network
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.connect(("::ffff:127.0.0.1", int(os.environ["ESCAPE_TCP"])))
    return True
