# Memory in many files of a file system that lies in memory.
# text: refused
# user: refused
# needs: memory
import os
import tempfile
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    wanted, block = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2, b"x" * (1 << 20)
    for place in (Path(tempfile.gettempdir()), Path("/dev/shm"), Path("/run")):
        held = 0
        try:
            mounts = [line.split() for line in open("/proc/mounts")]
            kinds = [kind for _, point, kind, *_ in mounts if point != "/" and place.is_relative_to(point)]
        except OSError:
            kinds = ["tmpfs"]
        if "tmpfs" not in kinds:
            continue
        try:
            while held < wanted:
                with (place / f"stepsmith-{os.environ['ESCAPE_MARK']}-{held}").open("wb") as file:
                    for _ in range(64):
                        held += file.write(block)
                        file.flush()
        except OSError:
            continue
        time.sleep(0.5)
        return str(place)
    return None
