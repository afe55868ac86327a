# A hard link makes a file outside one of the scratch folder.
# text: refused
# user: refused
# needs: files
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    for place in (Path(tempfile.gettempdir()), Path(os.environ["ESCAPE_RUN"])):
        try:
            os.link(outside / "secret.txt", place / "link")
            (place / "link").write_text("out")
            return True
        except OSError:
            continue
