# A new file outside.
# text: refused
# user: refused
# needs: files
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    (outside / "mark").write_text("out")
    return True
