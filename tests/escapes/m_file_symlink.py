# A symbolic link in the scratch folder leads to a file outside, which is written.
# text: refused
# user: refused
# needs: files
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    link = Path(tempfile.mkdtemp()) / "link"
    link.symlink_to(outside / "secret.txt")
    link.write_text("out")
    return True
