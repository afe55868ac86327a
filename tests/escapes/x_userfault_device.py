# Page faults are handled by a device where the call is refused.
# text: refused
# user: refused
# needs: files
import fcntl
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.open("/dev/userfaultfd", os.O_RDWR)
    return fcntl.ioctl(descriptor, 0xAA00, 0) >= 0
