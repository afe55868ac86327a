# The process is doubled.
# text: refused
# user: allowed
# needs: calls
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    child = os.fork()
    if not child:
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
