# A device node is made in the scratch folder, and the disk read through it.
# text: refused
# user: refused
import os
import stat
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    path = Path(tempfile.gettempdir()) / "disk"
    os.mknod(path, 0o600 | stat.S_IFBLK, os.stat("/").st_dev)
    return open(path, "rb").read(1)
