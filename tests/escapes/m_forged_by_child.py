# A child keeps the pipe and answers after the worker's death.
# text: refused
# user: refused
import os
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    if not os.fork():
        os.setsid()
        time.sleep(1)
        for number in range(3, 64):
            try:
                os.write(number, b'{"type":"result","job":1,"value":"forged"}\n')
            except OSError:
                continue
        os._exit(0)
    os._exit(5)
