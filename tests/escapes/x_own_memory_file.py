# A read-only map of a file outside is written through /proc/self/mem.
# text: refused
# user: refused
# needs: files
import mmap
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    with open(outside / "secret.txt", "rb") as file:
        shared = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
    maps = Path("/proc/self/maps").read_text().splitlines()
    start = int(next(line for line in maps if line.endswith("secret.txt")).split("-")[0], 16)
    descriptor = os.open("/proc/self/mem", os.O_RDWR)
    return os.pwrite(descriptor, b"out", start) == 3 and shared[:3] == b"out"
