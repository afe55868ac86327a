# The parent of the worker is stopped or ended, and its group.
# text: refused
# user: refused
# needs: processes
import os
import signal
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    os.kill(os.getppid(), signal.SIGSTOP)
    os.kill(0, signal.SIGCONT)
    os.kill(os.getppid(), 0)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
    return not os.path.exists(f"/proc/{os.getppid()}/stat") or None
