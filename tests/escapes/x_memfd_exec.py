# A program that lies in memory only is executed.
# text: refused
# user: refused
# needs: files, processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    descriptor = os.memfd_create("x", 0)
    os.write(descriptor, b"#!/bin/sh\necho out > " + str(outside / "made").encode() + b"\n")
    if os.fork() == 0:
        try:
            os.execve(descriptor, ["x"], {})
        finally:
            os._exit(1)
    os.wait()
    return (outside / "made").exists()
