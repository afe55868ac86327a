# A user's function writes beside its file and in the scratch folder.
# text: n.a.
# user: allowed
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    Path("made-here").write_text("mine")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a").write_text("mine")
    return Path("made-here").read_text()
