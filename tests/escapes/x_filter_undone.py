# The filter of calls is taken off: strict mode, a second filter that allows, suspending it as a tracer.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    code = (ctypes.c_uint64 * 1)(0x7FFF0000 << 32 | 0x06)
    program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(code))
    libc.syscall(317, 1, 0, program)
    if libc.ptrace(0x4206, os.getppid(), 0, 1 << 21) == 0:
        return "suspended"
    return libc.unshare(0x10000000) == 0
