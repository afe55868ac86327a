# An answer in the name of the job, on every descriptor, by a process of its own.
# text: refused
# user: refused
import json
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    line = json.dumps({"type": "result", "job": 1, "value": "forged"}).encode() + b"\n"
    for number in range(0, 64):
        for job in (b"1", b"2", b"3"):
            try:
                os.write(number, b"\n" + line.replace(b'"job": 1', b'"job": ' + job))
            except OSError:
                break
    return False
