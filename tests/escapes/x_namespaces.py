# A user namespace of its own, with a mount over what is read-only.
# text: refused
# user: refused
# needs: files
import ctypes
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000 | 0x00020000) != 0:
        return False
    if libc.mount(None, b"/", None, 16384 | 262144, None) == 0 and libc.mount(None, b"/", None, 32 | 4096, None) == 0:
        return True
    (outside / "made").write_text("out")
    return True
