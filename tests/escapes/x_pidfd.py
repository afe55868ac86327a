# The victim is signalled, and a descriptor stolen, through a descriptor of the process.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
import signal
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.pidfd_open(int(os.environ["ESCAPE_VICTIM"]))
    libc = ctypes.CDLL(None, use_errno=True)
    stolen = libc.syscall(438, descriptor, 0, 0)
    if stolen >= 0:
        return True
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    return True
