"""Run a command while other processes keep the machine busy: ``under_load.py 8 make test``.

Tests have to be as green on a busy machine as on an idle one; ``make test LOAD=8`` uses this.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

# Ends with its parent, however that ends: the pipe's other end is closed then.
_BUSY = """
import sys, threading
threading.Thread(target=lambda: sys.stdin.read(), name="parent", daemon=True).start()
parent = next(thread for thread in threading.enumerate() if thread.name == "parent")
while parent.is_alive():
    sum(range(100_000))
"""


def main() -> int:
    """Start the load, run the command, end the load; returns the command's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("processes", type=int, help="how many processes compute meanwhile")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...", help="what to run")
    wanted = parser.parse_args()
    if not wanted.command or wanted.processes < 0:
        parser.error("give a number of processes from 0 and a command")
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY], stdin=subprocess.PIPE) for _ in range(wanted.processes)]
    try:
        return subprocess.run(wanted.command, check=False).returncode
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
