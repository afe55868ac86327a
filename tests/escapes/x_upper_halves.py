# Arguments whose upper halves are set: a filter that compares all of them, or none, is passed.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    upper = 1 << 32
    reader, _ = os.pipe()
    long = ctypes.c_long
    tried = (
        (16, reader, upper | 0x5412, b"#"), (41, upper | 2, upper | 1, 0), (53, upper | 1, upper | 2, 0, (ctypes.c_int * 2)()),
        (56, upper | 0x10000000 | 17, 0, 0, 0, 0), (302, upper | int(os.environ["ESCAPE_OWNER"]), 7, 0, (ctypes.c_uint64 * 2)()),
        (72, reader, upper | 8, os.getpid()), (165, b"none", b"/", 0, upper | 0x44000, 0),
    )
    for number, *arguments in tried:
        found = libc.syscall(long(number), *(long(item) if isinstance(item, int) else item for item in arguments))
        if number == 56 and found == 0:
            os._exit(0)
        if found >= 0:
            return number
