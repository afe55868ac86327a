# A program with the rights of its owner is to give them.
# text: refused
# user: refused
# needs: calls
import os
import subprocess
from pathlib import Path


def attempt(outside: Path) -> object:
    for tool in ("/bin/su", "/usr/bin/sudo", "/usr/bin/unshare"):
        if os.path.exists(tool):
            arguments = [tool, "-c", "true"] if tool.endswith("su") else [tool, "-n", "true"]
            arguments = [tool, "-U", "true"] if tool.endswith("unshare") else arguments
            if subprocess.run(arguments, timeout=10, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0 and "unshare" in tool:
                return tool
