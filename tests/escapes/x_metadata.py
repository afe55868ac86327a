# Times, mode and attributes of a file are changed, which needs no open file.
# text: refused
# user: refused
# needs: files, calls
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    target = outside / "secret.txt"
    done = []
    for change in (
        lambda: os.utime(target, (1, 1)),
        lambda: os.chmod(target, 0o777),
        lambda: os.setxattr(target, "user.mark", b"out"),
        lambda: os.chown(target, os.getuid(), os.getgid()),
    ):
        try:
            before = target.stat()
            change()
            after = target.stat()
            done.append((before.st_mtime_ns, before.st_mode) != (after.st_mtime_ns, after.st_mode))
        except OSError:
            continue
    return any(done)
