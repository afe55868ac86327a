# A thread becomes another program.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    import threading

    thread = threading.Thread(target=os.execv, args=("/bin/sh", ["sh", "-c", f"echo out > '{outside}/mark'"]))
    thread.start()
    thread.join(10)
