# The helpers that libraries start: resource tracker, fork server, a manager of shared objects.
# text: refused
# user: refused
import multiprocessing
import multiprocessing.shared_memory
import os
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=time.sleep, args=(25,))
    process.start()
    multiprocessing.shared_memory.SharedMemory("stepsmith-escape", create=True, size=4096)
    os._exit(0)
