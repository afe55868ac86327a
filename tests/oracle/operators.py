"""The table of all operators of generation 1."""

from __future__ import annotations

from .base import Operator
from .compute import Accum, Map, Merge, Partition, Scan
from .shaping import (
    Bufferize,
    Copy,
    Flatten,
    Identity,
    Promote,
    Repeat,
    RepeatRef,
    Reshape,
    Streamify,
    Zip,
)

_ALL: tuple[type[Operator], ...] = (
    Map,
    Accum,
    Scan,
    Zip,
    Promote,
    Flatten,
    Reshape,
    Repeat,
    RepeatRef,
    Bufferize,
    Streamify,
    Copy,
    Partition,
    Merge,
    Identity,
)

OPERATORS: dict[str, type[Operator]] = {operator.__name__: operator for operator in _ALL} | {"RepeatLast": Repeat}
