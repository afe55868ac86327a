# Programs in the kernel, counters of its work, and page faults handled by oneself.
# text: refused
# user: refused
# needs: calls
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = ctypes.create_string_buffer(128)
    return any(
        libc.syscall(number, *arguments) >= 0
        for number, arguments in ((321, (0, attributes, 72)), (298, (attributes, 0, -1, -1, 0)), (323, (1,)))
    )
