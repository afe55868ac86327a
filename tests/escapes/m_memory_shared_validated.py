# Shared anonymous memory by the newer kind of map, and of the device of zeros.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
from pathlib import Path

SHARED, VALIDATED, ANONYMOUS = 1, 3, 0x20


def attempt(outside: Path) -> object:
    wanted = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    ways = [(VALIDATED | ANONYMOUS, -1), (SHARED | ANONYMOUS, -1)]
    try:
        ways.append((SHARED, os.open("/dev/zero", os.O_RDWR)))
    except OSError:
        pass
    for flags, descriptor in ways:
        place = libc.mmap(None, wanted, 3, flags, descriptor, 0)
        if place not in (None, 2**64 - 1):
            for at in range(0, wanted, 4096):
                ctypes.c_char.from_address(place + at).value = b"x"
            return flags
    return None
