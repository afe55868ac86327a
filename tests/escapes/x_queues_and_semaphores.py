# Message queues and semaphores of the machine, made and joined by every call.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    name = b"/stepsmith-escape"
    tried = ((240, name, 0o102, 0o600, 0), (68, 0, 0o1600), (64, 0, 1, 0o1600), (29, 0, 4096, 0o1600), (31, 0, 0, 0), (71, 0, 0, 0))
    return [number for number, *arguments in tried if number in (240, 68, 64, 29) and libc.syscall(number, *arguments) >= 0]
