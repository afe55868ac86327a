# A file in the scratch folder that fills the machine: more than 2 GB.
# text: refused
# user: refused
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    block = b"x" * (16 << 20)
    with open(Path(tempfile.gettempdir()) / "huge", "wb") as file:
        for _ in range(130):
            file.write(block)
    return True
