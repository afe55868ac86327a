# A grandchild without a parent, which ignores every signal it can, beats on.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
import signal
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
        if os.fork() == 0:
            os.setsid()
            libc = ctypes.CDLL(None)
            libc.prctl(1, 0, 0, 0, 0)
            end = time.monotonic() + 20
            while time.monotonic() < end:
                try:
                    Path(os.environ["ESCAPE_RUN"], "heartbeat").write_text("x")
                except OSError:
                    pass
                time.sleep(0.1)
        os._exit(0)
    os.wait()
    return False
