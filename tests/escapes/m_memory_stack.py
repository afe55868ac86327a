# A stack without end: of a program that is started once the limit of stacks is raised.
# text: n.a.
# user: refused
# needs: memory
import os
import resource
import subprocess
from pathlib import Path

# Arguments and environment of a program lie on its stack: a quarter of its limit may be filled at once.
PROGRAM = """
import ctypes, os, sys, time
wanted = int(os.environ["ESCAPE_MEMORY"]) * 3 // 2
top = [int(line.split("-")[1].split()[0], 16) for line in open("/proc/self/maps") if "[stack]" in line][0]
for at in range(4096, wanted, 4096):
    ctypes.c_char.from_address(top - at).value = b"x"
print("held", flush=True)
"""


def attempt(outside: Path) -> object:
    resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    import sys

    return "held" in subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True).stdout
