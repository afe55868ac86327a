# The owner or the victim is traced, or its environment read.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    owner = int(os.environ["ESCAPE_OWNER"])
    for pid in (owner, int(os.environ["ESCAPE_VICTIM"])):
        if pid != os.getpid() and libc.ptrace(16, pid, 0, 0) == 0:
            libc.ptrace(17, pid, 0, 0)
            return True
    for pid in (owner, int(os.environ["ESCAPE_VICTIM"])):
        try:
            return bool(Path(f"/proc/{pid}/environ").read_bytes().count(b"ESCAPE_TOKEN"))
        except OSError:
            continue
    return False
