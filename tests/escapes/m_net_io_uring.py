# System calls through io_uring, where filters of calls see nothing.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    return libc.syscall(425, 8, parameters) >= 0
