# Full sockets of many processes, few in each.
# text: refused
# user: refused
# needs: memory
import os
import socket
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    wanted, block = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, b"x" * (1 << 16)
    reader, writer = os.pipe()
    for _ in range(80):
        if not os.fork():
            held, pairs = 0, []
            for _ in range(55):
                pair = socket.socketpair()
                pairs.append(pair)
                for end in pair:
                    end.setblocking(False)
                    try:
                        while True:
                            held += end.send(block)
                    except BlockingIOError:
                        pass
            os.write(writer, held.to_bytes(8, "little"))
            time.sleep(20)
            os._exit(0)
    os.close(writer)
    held = sum(int.from_bytes(os.read(reader, 8), "little") for _ in range(80))
    time.sleep(1.0)
    return held if held > wanted else 0
