# A child in a session of its own stays behind.
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
    if not os.fork():
        os.setsid()
        beat()
    time.sleep(0.5)
