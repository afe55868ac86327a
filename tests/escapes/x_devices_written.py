# Devices of the machine are opened for writing: disks, terminals, the kernel's log.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    fine = {"/dev/null", "/dev/full", *map(str, Path("/dev/dri").glob("*")), *map(str, Path("/dev").glob("nvidia*"))}
    for path in (*Path("/dev").iterdir(), *Path("/dev/pts").glob("*")):
        if str(path) in fine or path.is_dir() or path.is_symlink():
            continue
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
            return str(path)
        except OSError:
            continue
