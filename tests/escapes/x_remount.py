# What is read-only is made writable again, or uncovered.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    tried = (
        lambda: libc.syscall(442, -100, b"/", 0x8000, attributes, 32), lambda: libc.mount(None, b"/", None, 32 | 4096, None),
        lambda: libc.umount2(b"/dev/shm", 2), lambda: libc.umount2(b"/proc", 2), lambda: libc.mount(b"none", b"/proc", None, 32 | 4096, None),
        lambda: libc.syscall(155, b".", b"."), lambda: libc.syscall(429, -100, b"/dev/shm", -100, os.fsencode(outside), 0),
        lambda: libc.syscall(467, -100, b"/", 1, attributes, 32),
    )
    return [number for number, call in enumerate(tried) if call() >= 0]
