"""The table of all operators."""

from __future__ import annotations

from .base import Operator
from .compute import Accum, FlatMap, Map, Scan
from .loops import Feedback
from .routing import EagerMerge, Merge, Parallelize, Partition, Reassemble
from .shaping import (
    Bufferize,
    Copy,
    Expand,
    Flatten,
    Identity,
    Promote,
    Repeat,
    RepeatRef,
    Reshape,
    Streamify,
    Zip,
)
from .tiles import (
    LinearOffChipLoad,
    LinearOffChipStore,
    RandomOffChipLoad,
    RandomOffChipStore,
    Retile,
    RetileStreamify,
)

_FIRST: tuple[type[Operator], ...] = (
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
_LATER: tuple[type[Operator], ...] = (
    LinearOffChipLoad,
    LinearOffChipStore,
    RandomOffChipLoad,
    RandomOffChipStore,
    Retile,
    RetileStreamify,
    FlatMap,
    Expand,
    Reassemble,
    EagerMerge,
    Parallelize,
    Feedback,
)

OPERATORS: dict[str, type[Operator]] = {operator.__name__: operator for operator in (*_FIRST, *_LATER)} | {
    "RepeatLast": Repeat
}

for _operator in _LATER:
    _operator.later = True
