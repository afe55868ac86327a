# The open files of the owner and of the parent.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for pid in (os.environ["ESCAPE_OWNER"], os.environ["ESCAPE_VICTIM"], str(os.getppid()), "1"):
        for number in range(30):
            try:
                os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_NONBLOCK))
                return (pid, number)
            except OSError:
                continue
