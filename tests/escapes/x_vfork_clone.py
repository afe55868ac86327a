# A process is made by clone through the C library's syscall function.
# text: refused
# user: refused
# needs: files
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    pid = libc.syscall(56, 17, 0, 0, 0, 0) if os.uname().machine == "x86_64" else libc.syscall(220, 17, 0, 0, 0, 0)
    if pid == 0:
        try:
            (outside / "made").write_text("out")
        finally:
            os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
    return (outside / "made").exists()
