# A file outside gets a name in the folder of the run, by its descriptor.
# text: refused
# user: refused
# needs: files
import ctypes
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open(outside / "secret.txt", os.O_RDONLY)
    for place in (os.environ["ESCAPE_RUN"], tempfile.gettempdir()):
        name = os.fsencode(Path(place) / "linked")
        if libc.linkat(file, b"", -100, name, 0x1000) == 0 or libc.linkat(-100, b"/proc/self/fd/%d" % file, -100, name, 0x400) == 0:
            return True
