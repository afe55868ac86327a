# A process that gives way to a child of its own all the time, so that nobody can catch it.
# text: refused
# user: refused
# needs: processes
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
    if not os.fork():
        os.setsid()
        for _ in range(2000):
            if os.fork():
                os._exit(0)
            time.sleep(0.002)
        beat()
    time.sleep(0.5)
