"""What the annotations of a script's program declare."""

from __future__ import annotations

from stepcore.records import Record
from stepcore.types import StreamType


class Signature(Record):
    """The declared streams, in order, and parameters of a program; ``outputs`` is None where nothing is declared."""

    inputs: dict[str, StreamType]
    parameters: dict[str, StreamType]
    outputs: tuple[StreamType, ...] | None
    written: frozenset[str] = frozenset()  # the parameters that stores may write
