# This process becomes another program, named by a descriptor only.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    shell = os.open("/bin/sh", os.O_RDONLY)
    os.execve(shell, ["sh", "-c", f"echo out > '{outside}/mark'"], {})
