# Signals to the owner of a pipe or a socket: F_SETOWN_EX, FIOSETOWN, SIOCSPGRP, F_SETSIG.
# text: refused
# user: refused
# needs: calls
import ctypes
import os
import socket
from pathlib import Path


def attempt(outside: Path) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    pair = socket.socketpair()
    descriptor = pair[0].fileno()
    target = ctypes.c_int(int(os.environ["ESCAPE_VICTIM"]))
    own = ctypes.c_int(1)
    return any((
        libc.fcntl(descriptor, 8, target) == 0, libc.fcntl(descriptor, 15, (ctypes.c_int * 2)(1, target)) == 0,
        libc.ioctl(descriptor, 0x8901, ctypes.byref(target)) == 0, libc.ioctl(descriptor, 0x8902, ctypes.byref(target)) == 0,
        libc.fcntl(descriptor, 8, own) == 0,
    ))
