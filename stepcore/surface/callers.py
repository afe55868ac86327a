"""Where a script is, and what it calls its streams: for messages that name a user's own line and variable."""

from __future__ import annotations

import dis
import os.path
import sys
from types import FrameType
from typing import Any, Final, NamedTuple, Protocol

# A script imports this module first, and pathlib with what it loads would be a twentieth of that.
_HERE: Final = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
_UNPACK: Final = (dis.opmap["UNPACK_SEQUENCE"], dis.opmap["UNPACK_EX"])


class Cell(NamedTuple):
    """One run of a cell of a notebook: which cell it is, and the number of the run."""

    cell: str
    run: int


class Named(Protocol):
    """Something with a name of its own."""

    name: str


def caller() -> FrameType | None:
    """Return the innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def names_that_take(frame: FrameType) -> tuple[int, int] | None:
    """Return how many values ``a, b = ...`` at ``frame`` takes, at least and at most; None where it runs no such line.

    The most is -1 where one of the names takes the rest.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] not in _UNPACK:
        return None
    number = code[at + 1]
    if code[at] == _UNPACK[0]:
        return (number, number) if not _is_extended(code, at) else None
    return number + (code[at - 1] if _is_extended(code, at) else 0), -1


def _is_extended(code: bytes, at: int) -> bool:
    return at >= 2 and code[at - 2] == dis.EXTENDED_ARG


def place(frame: FrameType | None) -> str:
    """Return ``file:line`` of a frame."""
    return "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def name_of(stream: Named, frame: FrameType | None) -> str:
    """Return the name of the variable that holds ``stream`` in ``frame``, else the stream's own, which may be empty."""
    for name, value in (frame.f_locals if frame is not None else {}).items():
        if value is stream:
            return name
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                if item is stream:
                    return f"{name}[{index}]"
    return stream.name


def shown_name(stream: Named) -> str:
    """Return the stream's own name, else that of a variable of the script or notebook that holds it; may be empty."""
    main = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    # What begins with an underscore is what the console keeps of its results.
    return stream.name or next((n for n, value in [*main.items()] if value is stream and not n.startswith("_")), "")


def cell() -> Cell | None:
    """Return the cell that is being run, as IPython knows it; None in scripts.

    A cell is known by the id that its notebook gave it, else by its text.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    known = (parent or {}).get("metadata", {}).get("cellId")
    texts = shell.user_ns.get("In") or [""]
    return Cell(str(known or texts[-1]), int(shell.execution_count))
