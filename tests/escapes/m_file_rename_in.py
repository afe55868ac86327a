# A file of the scratch folder is moved over the border.
# text: refused
# user: refused
# needs: files
import shutil
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    source = Path(tempfile.gettempdir()) / "mark"
    source.write_text("out")
    shutil.move(source, outside / "mark")
    return True
