# The answer of the job is written into the pipe by hand.
# text: refused
# user: refused
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    line = b'{"type":"result","job":1,"value":"forged"}\n'
    for number in range(3, 64):
        for job in (b"1", b'""', b'"1"'):
            try:
                os.write(number, line.replace(b"1", job, 1))
            except OSError:
                break
