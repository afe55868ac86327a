# Words are typed into the user's terminal.
# text: refused
# user: refused
import fcntl
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for path in ("/dev/tty", "/dev/pts/0", "/dev/pts/1", "/dev/console", "/proc/self/fd/2"):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(descriptor, 0x5412, b"#")
            return path
        except OSError:
            continue
