# Memory in a file that lies nowhere, which no limit of a process counts.
# text: refused
# user: refused
# needs: memory
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    wanted, block = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, b"x" * (1 << 20)
    descriptors, held = [], 0
    while held < wanted:
        descriptors.append(os.memfd_create("more"))
        for _ in range(64):
            held += os.write(descriptors[-1], block)
    return held
