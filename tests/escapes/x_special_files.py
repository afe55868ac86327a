# A pipe, a socket and a link with a name outside.
# text: refused
# user: refused
# needs: files
import os
import stat
from pathlib import Path


def attempt(outside: Path) -> object:
    for make in (
        lambda: os.mkfifo(outside / "fifo"), lambda: os.mknod(outside / "socket", 0o600 | stat.S_IFSOCK),
        lambda: os.symlink("secret.txt", outside / "link"), lambda: os.mknod(outside / "plain", 0o600 | stat.S_IFREG),
    ):
        try:
            make()
            return True
        except OSError:
            continue
