"""Text files: read with their encoding, written back without losing anything of it."""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path
from typing import Final

from stepcore.records import Record
from stepcore.system.scarce import reason_of
from stepcore.text.places import place_of

MAX_BYTES: Final = 5_000_000
MAX_LINES: Final = 100_000
# What a notebook holds is JSON: read as a Python file or a task it would only be said to hold no program.
_NOTEBOOK: Final = (
    "this is a notebook, whose cells are checked in an editor only; "
    "`jupyter nbconvert --to script` makes a Python file of it"
)

# Python's codecs that are none of files: host names, whose decoders take the square of the time, and escapes, which
# would write line ends as something else than they were read from.
_NOT_OF_FILES: Final = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
_CODING: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip


class Unusable(Exception):
    """A file that cannot be used; ``code`` is STEP901 or STEP908."""

    def __init__(self, path: str | Path, message: str, code: str = "STEP901") -> None:
        super().__init__(message)
        self.path = str(path)
        self.message = message
        self.code = code


class TextFile(Record):
    """A file's text (line ends as they are, without byte order mark) and how it was encoded."""

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    def write(self, text: str) -> None:
        """Replace the file in one step; encoding, byte order mark and mode stay, links stay links.

        Line ends that ``text`` has in addition become the file's own.
        """
        write_atomically(self.path, self.encoded(text))

    def encoded(self, text: str) -> bytes:
        """Return the file's content with another text, as :meth:`write` writes it."""
        if "\r\n" in self.text and not re.search(r"(?<!\r)\n", self.text):
            text = re.sub(r"(?<!\r)\n", "\r\n", text)
        return self.bom + text.encode(self.encoding)


def read_file(path: Path, *, large: bool = False) -> TextFile:
    """Read a text file in UTF-8, in the encoding of its byte order mark, or in that of a Python coding comment.

    Raises:
        Unusable: STEP901 if it cannot be read or is no text, STEP908 if it is too large and ``large`` is not set.
    """
    if path.suffix == ".ipynb" and path.exists():
        raise Unusable(path, _NOTEBOOK)
    try:
        data = read_at_most(path, None if large else MAX_BYTES)
    except NoRegularFile:
        raise Unusable(path, "the path leads to no regular file") from None
    except OSError as error:
        raise Unusable(path, f"the file cannot be read: {reason_of(error)}") from error
    if data is None:
        raise too_large(path)
    return decode(path, data, large=large)


class NoRegularFile(Exception):
    """A pipe, a device, a socket: to read it may wait for ever, or never end."""


def read_at_most(path: Path, most: int | None) -> bytes | None:
    """Return what a file holds, None where that is more than ``most`` bytes; no more than these are read.

    Raises:
        NoRegularFile: it is neither a file nor a folder.
        OSError: it cannot be read; a folder is one of these.
    """
    size = _size_of(path)
    if most is not None and size > most:
        return None
    # A file may grow while it is read, and those that the system makes up do not tell how long they are.
    with path.open("rb") as file:
        data = file.read() if most is None else file.read(most + 1)
    return None if most is not None and len(data) > most else data


def read_beginning(path: Path) -> bytes:
    """Return what a file begins with, at most :data:`MAX_BYTES`; raises as :func:`read_at_most` does."""
    _size_of(path)
    with path.open("rb") as file:
        return file.read(MAX_BYTES)


def _size_of(path: Path) -> int:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise NoRegularFile(path)
    return status.st_size


def decode(path: Path, data: bytes, *, large: bool = False) -> TextFile:
    """Return the text of ``data``; raises :class:`Unusable` as :func:`read_file` does."""
    if len(data) > MAX_BYTES and not large:
        raise too_large(path)
    bom, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", "utf-8"))
    if not bom and path.suffix == ".py":
        encoding = _declared(data)
    try:
        if codecs.lookup(encoding).name in _NOT_OF_FILES:
            raise LookupError(encoding)
        text = data[len(bom) :].decode(encoding)
    except (UnicodeError, LookupError) as error:
        at = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise Unusable(path, f"the file is no text in the encoding {encoding}{at}; save it as UTF-8") from error
    if "\0" in text:
        raise Unusable(path, "the file is no text: it holds a NUL character")
    if not large and text.count("\n") > MAX_LINES:
        raise too_large(path)
    return TextFile(path, text, encoding, bom)


def too_large(path: Path) -> Unusable:
    """Return the message for a file over the limits."""
    text = f"over {MAX_BYTES // 1_000_000} MB or {MAX_LINES:,} lines: checked on demand only, with `check --large`"
    return Unusable(path, text, "STEP908")


def _declared(data: bytes) -> str:
    for line in data.split(b"\n", 2)[:2]:
        match = _CODING.match(line)
        if match:
            return match.group(1).decode("ascii")
    return "utf-8"


def write_atomically(path: Path, data: bytes) -> None:
    """Write through a file beside it, so that a reader or a crash sees the old content or the new, nothing between.

    Raises:
        OSError: it cannot be written, with the path that was given; devices, pipes and sockets are not replaced.
    """
    place_of(path).write(data)
