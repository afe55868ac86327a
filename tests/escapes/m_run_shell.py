# A shell writes a file outside.
# text: refused
# user: refused
# needs: files
import subprocess
from pathlib import Path


def attempt(outside: Path) -> object:
    subprocess.run(["/bin/sh", "-c", f"echo out > '{outside}/mark'"], check=True, timeout=10)
    return True
