# Eight children, each of which takes less than the limit.
# text: refused
# user: refused
# needs: memory
import os
import time
from pathlib import Path


def take(size, told):
    held = bytearray(size)
    for at in range(0, size, 4096):
        held[at] = 1
    os.write(told, b"x")
    time.sleep(20)
    os._exit(0)


def attempt(outside: Path) -> object:
    reader, writer = os.pipe()
    for _ in range(8):
        if not os.fork():
            take(int(os.environ["ESCAPE_MEMORY"]) * 3 // 16, writer)
    os.close(writer)
    held = 0
    while held < 8 and os.read(reader, 1):
        held += 1
    time.sleep(1.0)
    return held == 8
