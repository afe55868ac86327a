# What programs outside obey in the folder of the run is written, moved away or replaced: version control, environments.
# text: refused
# user: refused
# needs: files
import os
import shutil
from pathlib import Path


def attempt(outside: Path) -> object:
    run = Path(os.environ["ESCAPE_RUN"])
    for folder, file in ((run / ".git", "config"), (run / ".venv", "pyvenv.cfg")):
        for change in (
            lambda: (folder / file).write_text("out"), lambda: (folder / "new").write_text("out"), lambda: folder.rename(run / "moved"),
            lambda: (folder / file).unlink(), lambda: shutil.rmtree(folder), lambda: (run / ".git").rmdir(),
            lambda: os.replace(folder / file, run / "moved"), lambda: folder.chmod(0o777),
        ):
            try:
                change()
                return str(folder)
            except OSError:
                continue
