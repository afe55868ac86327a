# A child asks not to be told about the death of its parent.
# text: refused
# user: refused
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def beat():
    for _ in range(3000):
        with open(os.path.join(os.environ["ESCAPE_RUN"], "heartbeat"), "a") as file:
            file.write("x")
        time.sleep(0.1)
    os._exit(0)



def attempt(outside: Path) -> object:
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(1, 0)
    libc.prctl(36, 1)
    if not os.fork():
        libc.prctl(1, 0)
        os.setsid()
        beat()
    time.sleep(0.5)
