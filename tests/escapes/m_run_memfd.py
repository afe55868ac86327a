# A program that lies in memory only is started.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    code = b"#!/bin/sh\necho out > '" + os.fsencode(outside) + b"/mark'\n"
    descriptor = os.memfd_create("program", 0)
    os.write(descriptor, code)
    child = os.posix_spawn(f"/proc/self/fd/{descriptor}", ["program"], os.environ)
    os.waitpid(child, 0)
