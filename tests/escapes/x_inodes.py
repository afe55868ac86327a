# More files than the scratch folder should hold.
# text: refused
# user: refused
# needs: scratch
import os
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    place = Path(tempfile.gettempdir())
    for number in range(70_000):
        os.close(os.open(place / str(number), os.O_CREAT | os.O_WRONLY))
    return True
