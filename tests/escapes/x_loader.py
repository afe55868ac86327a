# The dynamic loader is asked to run a program that may not be executed itself.
# text: refused
# user: refused
# needs: files, processes
import glob
import subprocess
from pathlib import Path


def attempt(outside: Path) -> object:
    loaders = glob.glob("/lib*/ld-linux*") + glob.glob("/lib/*/ld-linux*")
    target = str(outside / "made")
    for loader in loaders:
        subprocess.run([loader, "/bin/touch", target], timeout=5, check=False)
        subprocess.run([loader, "/usr/bin/touch", target], timeout=5, check=False)
    return (outside / "made").exists()
