# Memory in maps that grow like a stack: the limit of a process's data leaves stacks out.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
from pathlib import Path

PRIVATE, ANONYMOUS, GROWS_DOWN = 2, 0x20, 0x100


def attempt(outside: Path) -> object:
    wanted = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    place = libc.mmap(None, wanted, 3, PRIVATE | ANONYMOUS | GROWS_DOWN, -1, 0)
    if place in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), "refused")
    for at in range(0, wanted, 4096):
        ctypes.c_char.from_address(place + at).value = b"x"
    return wanted
