# Memory in anonymous maps that are shared with nobody yet.
# text: refused
# user: refused
# needs: memory
import mmap
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    wanted = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2
    held = mmap.mmap(-1, wanted, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for at in range(0, wanted, 4096):
        held[at] = 1
    return len(held)
