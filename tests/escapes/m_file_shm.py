# Shared memory of the machine is filled or used as a mailbox.
# text: refused
# user: refused
import os
from multiprocessing import shared_memory
from pathlib import Path


def attempt(outside: Path) -> object:
    name = "stepsmith-escape-" + os.environ["ESCAPE_MARK"]
    memory = shared_memory.SharedMemory(name, create=True, size=600 << 20)
    memory.buf[:] = b"x" * (600 << 20)
    return True
