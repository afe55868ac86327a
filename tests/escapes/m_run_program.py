# A program is started.
# text: refused
# user: allowed
# needs: calls
import subprocess
import sys
from pathlib import Path


def attempt(outside: Path) -> object:
    return subprocess.run([sys.executable, "-c", "print(6 * 7)"], check=True, timeout=15, capture_output=True).stdout
