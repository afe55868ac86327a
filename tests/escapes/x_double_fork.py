# A daemon of the old school beats on.
# text: refused
# user: refused
# needs: processes
import os
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
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
