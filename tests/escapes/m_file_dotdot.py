# A path that climbs out of the scratch folder.
# text: refused
# user: refused
# needs: files
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    climbing = "../" * 20 + str(outside / "mark").lstrip("/")
    (Path(tempfile.gettempdir()) / climbing).write_text("out")
    return True
