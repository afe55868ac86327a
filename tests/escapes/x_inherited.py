# Every descriptor that was inherited is looked at: folders, sockets, files that can be written.
# text: refused
# user: refused
# needs: files
import os
import stat
from pathlib import Path


def attempt(outside: Path) -> object:
    loot = []
    for number in range(3, 256):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            try:
                os.close(os.open("made", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=number))
                loot.append(Path(os.readlink(f"/proc/self/fd/{number}")) == outside)
            except OSError:
                continue
    return any(loot)
