# A segment of System V's shared memory is left to everybody.
# text: refused
# user: refused
import ctypes
import os
import subprocess
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0x57E9, 4096, 0o1666)
    if segment < 0:
        return None
    tool = subprocess.run(["ipcs", "-m"], capture_output=True, timeout=10)
    return None if os.stat("/proc/self/ns/ipc").st_ino != os.stat(f"/proc/{os.environ['ESCAPE_OWNER']}/ns/ipc").st_ino else tool
