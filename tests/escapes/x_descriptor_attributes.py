# Mode, times, owner and attributes of a file outside, by a descriptor that only reads.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open(outside / "secret.txt", os.O_RDONLY)
    for change in (
        lambda: os.fchmod(descriptor, 0o777), lambda: os.utime(descriptor, (1, 1)), lambda: os.fchown(descriptor, 65534, 65534),
        lambda: os.setxattr(descriptor, "user.mark", b"out"), lambda: os.chmod(f"/proc/self/fd/{descriptor}", 0o777),
    ):
        try:
            change()
            return True
        except OSError:
            continue
