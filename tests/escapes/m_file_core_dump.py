# A core dump lies where it was not wanted.
# text: refused
# user: refused
import resource
from pathlib import Path


def attempt(outside: Path) -> object:
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
    return True
