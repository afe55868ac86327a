# Calls that filters of older kernels do not know: fchmodat2, setxattrat, file_setattr.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    path = os.fsencode(outside / "secret.txt")
    value = ctypes.create_string_buffer(b"out")
    described = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 3)
    attributes = (ctypes.c_uint64 * 8)(0x40)
    return any(
        libc.syscall(number, -100, path, *arguments) == 0
        for number, arguments in (
            (452, (0o777, 0)), (463, (0, b"user.mark", described, 16)), (469, (attributes, 24, 0)),
        )
    )
