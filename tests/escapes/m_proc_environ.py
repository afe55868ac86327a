# The environment of the owner and of the victim, with the secrets in it.
# text: refused
# user: refused
# needs: processes
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    for name in [os.environ["ESCAPE_VICTIM"], os.environ["ESCAPE_OWNER"], *os.listdir("/proc")]:
        try:
            text = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if b"ESCAPE_TOKEN=" in text:
            return text
