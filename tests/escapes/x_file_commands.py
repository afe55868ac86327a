# A file or folder outside is sealed, versioned or encrypted by commands to its file system.
# text: refused
# user: refused
# needs: files
import fcntl
import os
import struct
from pathlib import Path


def attempt(outside: Path) -> object:
    file = os.open(outside / "secret.txt", os.O_RDONLY)
    folder = os.open(outside / "locked", os.O_RDONLY)
    verity = struct.pack("=3I I Q I I Q 11Q", 1, 1, 4096, 0, 0, 0, 0, 0, *[0] * 11)
    policy = struct.pack("=BBBB8s", 0, 1, 4, 0, b"stepsmit")
    for descriptor, command, argument in (
        (file, 0x40806685, verity), (file, 0x40087602, struct.pack("=Q", 7)), (file, 0x40086604, struct.pack("=Q", 7)),
        (folder, 0x800C6613, policy), (file, 0x40086602, struct.pack("=Q", 0x10)), (file, 0x40046602, struct.pack("=I", 0x10)),
    ):
        try:
            fcntl.ioctl(descriptor, command, bytearray(argument))
            return hex(command)
        except OSError:
            continue
