# A file is opened by its handle instead of by its path.
# text: refused
# user: refused
# needs: capabilities
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = ctypes.create_string_buffer(136)
    ctypes.memmove(handle, (ctypes.c_uint * 1)(128), 4)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, str(outside / "secret.txt").encode(), handle, ctypes.byref(mount), 0) != 0:
        return False
    root = os.open("/", os.O_RDONLY)
    descriptor = libc.open_by_handle_at(root, handle, os.O_RDWR)
    return descriptor >= 0 and os.read(descriptor, 100)
