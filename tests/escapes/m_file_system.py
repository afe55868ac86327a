# Configuration, programs and start-up files of the user and of the system.
# text: refused
# user: refused
# needs: files
import os
import sys
from pathlib import Path


def attempt(outside: Path) -> object:
    name = ".stepsmith-escape-" + os.environ["ESCAPE_MARK"]
    folders = [Path("/etc"), Path("/usr/local/bin"), Path("/tmp"), Path("/var/tmp"), Path("/"), Path("/root"), Path("/home")]
    folders += [Path(os.path.expanduser("~" + os.environ.get("USER", ""))), Path(os.__file__).parent, Path(sys.prefix)]
    for folder in folders:
        try:
            (folder / name).write_text("out")
            (folder / name).unlink()
            if str(folder) not in (os.environ["TMPDIR"], os.environ["ESCAPE_RUN"]):
                return str(folder)
        except OSError:
            continue
