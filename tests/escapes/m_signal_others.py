# A signal to the owner, the victim and everybody.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for pid in (int(os.environ["ESCAPE_OWNER"]), int(os.environ["ESCAPE_VICTIM"])):
        try:
            os.kill(pid, 0)
            return pid
        except OSError:
            continue
