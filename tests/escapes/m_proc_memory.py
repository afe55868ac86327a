# The memory of other processes.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for pid in (os.environ["ESCAPE_VICTIM"], os.environ["ESCAPE_OWNER"], str(os.getppid()), "1"):
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
            return pid
        except OSError:
            continue
