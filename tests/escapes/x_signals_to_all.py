# Every process that can be reached is asked to stop, by every call that sends signals.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    mine = os.getpid()
    reached = []
    for pid in (1, os.getppid(), int(os.environ["ESCAPE_OWNER"]), int(os.environ["ESCAPE_VICTIM"])):
        if pid in (0, mine):
            continue
        for number, arguments in ((62, (pid, 19)), (200, (pid, 19)), (234, (pid, pid, 19)), (62, (-pid, 19))):
            if pid != 1 and libc.syscall(number, *arguments) == 0:  # the first of a namespace does not hear it
                reached.append(pid)
    for pid in (1, os.getppid()):
        libc.syscall(62, pid, 9)
    return reached
