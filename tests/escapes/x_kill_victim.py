# A process of somebody else is killed.
# text: refused
# user: refused
# needs: processes
import os
import signal
from pathlib import Path


def attempt(outside: Path) -> object:
    os.kill(int(os.environ["ESCAPE_VICTIM"]), signal.SIGKILL)
    return False
