# A chain of processes, each of which forks and leaves, outruns whoever counts them.
# text: refused
# user: refused
# needs: processes
import os
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 15
        while time.monotonic() < end:
            if os.fork() > 0:
                os._exit(0)
            try:
                Path(os.environ["ESCAPE_RUN"], "heartbeat").write_text("x")
            except OSError:
                pass
            time.sleep(0.02)
        os._exit(0)
    return False
