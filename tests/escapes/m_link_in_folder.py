# A link in the folder of the run that leads to an environment, or a link or folder on its way, is replaced.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    run = Path(os.environ["ESCAPE_RUN"])
    (run / "other").symlink_to("mine")
    for place in (run / "venv", run / "env", run / "envs", run / "envs" / "main"):
        for change in (
            place.unlink, place.rmdir, lambda: place.rename(run / "moved"), lambda: os.replace(run / "other", place),
            lambda: (run / "venv" / "new").write_text("out"), lambda: (run / "venv" / "pyvenv.cfg").unlink(),
        ):
            try:
                change()
                return str(place)
            except OSError:
                continue
    return None
