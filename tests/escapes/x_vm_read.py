# Memory of another process is read without tracing it.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    victim = int(os.environ["ESCAPE_VICTIM"])
    maps = Path(f"/proc/{victim}/maps").read_text().splitlines()
    start = int(next(line for line in maps if "[stack]" in line).split("-")[0], 16)
    buffer = ctypes.create_string_buffer(64)


    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


    here, there = Part(ctypes.addressof(buffer), 64), Part(start, 64)
    return libc.process_vm_readv(victim, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0
