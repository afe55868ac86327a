# A link that is turned between check and use.
# text: refused
# user: refused
# needs: files
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    here = Path(tempfile.mkdtemp())
    name = here / "swap"
    for _ in range(300):
        for target in (here, outside):
            try:
                name.unlink(missing_ok=True)
                name.symlink_to(target)
                (name / "made").write_text("out")
            except OSError:
                continue
    return (outside / "made").exists()
