# A crash lets the system write a core file where we stand.
# text: refused
# user: refused
# needs: files
import os
import resource
from pathlib import Path


def attempt(outside: Path) -> object:
    resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
    os.chdir(outside)
    os.abort()
