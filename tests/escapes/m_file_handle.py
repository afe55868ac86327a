# A file is opened by its handle, past all folders.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = (ctypes.c_uint32 * 34)(128)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(outside / "secret.txt"), handle, ctypes.byref(mount), 0) != 0:
        return None
    place = os.open("/", os.O_RDONLY)
    return libc.open_by_handle_at(place, handle, os.O_RDWR) >= 0
