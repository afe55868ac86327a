# Privileges are taken back: no_new_privs, dumpable, securebits, capabilities of each kind.
# text: refused
# user: refused
# needs: capabilities
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    data = (ctypes.c_uint32 * 6)(0xFFFFFFFF, 0xFFFFFFFF, 0, 0x1FF, 0x1FF, 0)
    one_data = (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 1 << 21, 0, 0, 0)
    tried = (
        lambda: libc.prctl(38, 0, 0, 0, 0), lambda: libc.prctl(28, 0, 0, 0, 0), lambda: libc.prctl(47, 2, 21, 0, 0),
        lambda: libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), data), lambda: libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), one_data),
        lambda: libc.setns(-1, 0), lambda: libc.setresuid(65534, 65534, 65534), lambda: libc.setgid(65534),
    )
    return [number for number, call in enumerate(tried) if call() == 0]
