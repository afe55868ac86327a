# The command lines of other processes are listed.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    lines = [Path(f"/proc/{name}/cmdline").read_bytes() for name in names]
    return [line for line in lines if line.startswith(b"sleep\0")]  # the victim
