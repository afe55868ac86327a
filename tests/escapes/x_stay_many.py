# Two hundred children, each with a child that leaves its session, all deaf to signals.
# text: refused
# user: refused
import os
import signal
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    for _ in range(200):
        if not os.fork():
            if not os.fork():
                os.setsid()
                for number in range(1, 32):
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        continue
                time.sleep(25)
                os._exit(0)
            os._exit(0)
    time.sleep(0.3)
