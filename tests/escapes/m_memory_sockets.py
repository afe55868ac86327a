# Memory that the kernel holds: what was written to pairs of sockets, and never read.
# text: refused
# user: refused
# needs: memory
import os
import resource
import socket
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted, block = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, b"x" * (1 << 16)
    held, pairs = 0, []
    while held < wanted:
        pair = socket.socketpair()
        pairs.append(pair)
        for end in pair:
            end.setblocking(False)
            try:
                while True:
                    held += end.send(block)
            except BlockingIOError:
                pass
    time.sleep(1.0)
    return held
