"""Where a script is, and what it calls its streams: for messages that name a user's own line and variable."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Final, Protocol

_HERE: Final = str(Path(__file__).parent)


class Named(Protocol):
    """Something with a name of its own."""

    name: str


def caller() -> FrameType | None:
    """Return the innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


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
