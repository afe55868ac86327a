# The worker dies while its grandchildren run.
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
    for _ in range(5):
        if not os.fork():
            os.setsid()
            if os.fork():
                os._exit(0)
            beat()
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
