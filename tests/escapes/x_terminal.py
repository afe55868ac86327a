# Keys are typed into the terminal of whoever started us.
# text: refused
# user: refused
# needs: calls
import fcntl
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for name in ("/dev/tty", "/dev/pts/0", "/dev/console", "/proc/self/fd/0"):
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(descriptor, 0x5412, b"#")
            return True
        except OSError:
            continue
    return False
