# A daemon: forked twice, its own session, no descriptors, deaf to signals.
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
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        if os.fork():
            os._exit(0)
        os.closerange(0, 256)
        beat()
    os.wait()
    time.sleep(0.5)
