# The kernel copies into a file outside: sendfile, copy_file_range, splice.
# text: refused
# user: refused
# needs: files
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    source = os.open(Path(tempfile.gettempdir()) / "source", os.O_RDWR | os.O_CREAT)
    os.write(source, b"out")
    target = os.open(outside / "secret.txt", os.O_RDONLY)
    reader, writer = os.pipe()
    os.write(writer, b"out")
    for copy in (
        lambda: os.sendfile(target, source, 0, 3), lambda: os.copy_file_range(source, target, 3, 0, 0),
        lambda: os.splice(reader, target, 3),
    ):
        try:
            if copy() > 0:
                return True
        except OSError:
            continue
