# A signal through rt_sigqueueinfo and tgkill instead of kill.
# text: refused
# user: refused
# needs: processes
import ctypes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    victim = int(os.environ["ESCAPE_VICTIM"])
    numbers = (129, 234) if os.uname().machine == "x86_64" else (138, 131)
    information = ctypes.create_string_buffer(128)
    ctypes.memmove(information, (ctypes.c_int * 3)(9, 0, -1), 12)
    return libc.syscall(numbers[0], victim, 9, information) == 0 or libc.syscall(numbers[1], victim, victim, 9) == 0
