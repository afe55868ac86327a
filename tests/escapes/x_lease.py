# A lease on a file outside lets everybody who opens it wait; a watch sends signals about it.
# text: refused
# user: refused
# needs: calls
import fcntl
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    file = os.open(outside / "secret.txt", os.O_RDONLY)
    folder = os.open(outside, os.O_RDONLY)
    for descriptor, command, argument in ((file, fcntl.F_SETLEASE, fcntl.F_RDLCK), (folder, fcntl.F_NOTIFY, fcntl.DN_CREATE)):
        try:
            fcntl.fcntl(descriptor, command, argument)
            return command
        except OSError:
            continue
