# The memory of another process is read with process_vm_readv.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (int(os.environ["ESCAPE_VICTIM"]), int(os.environ["ESCAPE_OWNER"]), os.getppid()):
        buffer = ctypes.create_string_buffer(16)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
        if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) > 0 or ctypes.get_errno() == 14:
            return pid
