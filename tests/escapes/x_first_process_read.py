# The first process of the namespace, which the owner started: memory, environment, descriptors, stack.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for name in ("environ", "mem", "maps", "fd/2", "auxv", "stack", "syscall", "root/etc/passwd", "cwd/x", "map_files"):
        for pid in {1, os.getppid()} - {0}:
            try:
                path = Path(f"/proc/{pid}/{name}")
                found = path.read_bytes() if name != "map_files" else os.listdir(path)
                if found:
                    return f"{pid} {name}"
            except OSError:
                continue
