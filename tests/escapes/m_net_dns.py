# A name is looked up, which tells a name server whatever the name says.
# text: refused
# user: refused
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    return socket.getaddrinfo("stepsmith-escape.example.com", 80)
