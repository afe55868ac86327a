# Files and sockets by io_uring, which passes by filters of system calls.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(256)
    descriptor = libc.syscall(425, 4, parameters)
    return descriptor >= 0
