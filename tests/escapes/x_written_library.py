# A library that was written to the scratch folder is loaded.
# text: refused
# user: allowed
# needs: files
import _ctypes
import ctypes
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    source = next(Path(_ctypes.__file__).parent.glob("_ctypes*.so"))
    copied = Path(tempfile.gettempdir()) / "copied.so"
    copied.write_bytes(source.read_bytes())
    return bool(ctypes.CDLL(str(copied)))
