# Another process is traced.
# text: refused
# user: refused
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (int(os.environ["ESCAPE_VICTIM"]), os.getppid(), 1):
        if libc.ptrace(16, pid, 0, 0) == 0 or libc.ptrace(0x4206, pid, 0, 0) == 0:
            return pid
