# The namespaces of another process are entered.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (os.environ["ESCAPE_OWNER"], "1", str(os.getppid())):
        for kind in ("mnt", "net", "pid", "user"):
            try:
                if libc.setns(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0) == 0:
                    return (pid, kind)
            except OSError:
                continue
