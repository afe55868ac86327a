"""What the annotations of a script's program declare."""

from __future__ import annotations

from dataclasses import dataclass

from stepcore.types import StreamType


@dataclass(frozen=True)
class Signature:
    """The declared streams, in order, and parameters of a program; ``outputs`` is None where nothing is declared."""

    inputs: dict[str, StreamType]
    parameters: dict[str, StreamType]
    outputs: tuple[StreamType, ...] | None
