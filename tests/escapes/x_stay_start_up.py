# What Python or a shell runs when it starts next: beside the libraries, in the user's folder.
# text: refused
# user: refused
# needs: files
import os
import site
import sys
from pathlib import Path


def attempt(outside: Path) -> object:
    places = [Path(site.getusersitepackages()) / "stepsmith_escape.pth", Path(sys.prefix) / "pyvenv.cfg", Path(os.__file__).parent / "sitecustomize.py"]
    places += [Path(folder) / "stepsmith_escape.pth" for folder in site.getsitepackages()]
    places += [Path(sys.executable), Path(sys.executable).parent / "activate"]
    for place in places:
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
            return str(place)
        except OSError:
            continue
