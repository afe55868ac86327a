# More processes than a worker needs.
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
    for _ in range(300):
        with open(os.path.join(os.environ["ESCAPE_RUN"], "heartbeat"), "a") as file:
            file.write("x")
        time.sleep(0.1)
    os._exit(0)



def attempt(outside: Path) -> object:
    made = []
    try:
        for _ in range(3000):
            child = os.fork()
            if not child:
                time.sleep(15)
                os._exit(0)
            made.append(child)
    finally:
        for child in made:
            os.kill(child, signal.SIGKILL)
    return True
