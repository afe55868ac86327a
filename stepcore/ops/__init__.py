"""The operators of generation 1, each in one file of this package."""

from __future__ import annotations

from typing import Final

from stepcore.ops.accum import Accum
from stepcore.ops.base import Operator
from stepcore.ops.bufferize import Bufferize
from stepcore.ops.copy import Copy
from stepcore.ops.dialect import Dialect, by_names
from stepcore.ops.flatten import Flatten
from stepcore.ops.identity import Identity
from stepcore.ops.map import Map
from stepcore.ops.merge import Merge
from stepcore.ops.partition import Partition
from stepcore.ops.promote import Promote
from stepcore.ops.repeat import Repeat
from stepcore.ops.repeat_ref import RepeatRef
from stepcore.ops.reshape import Reshape
from stepcore.ops.scan import Scan
from stepcore.ops.streamify import Streamify
from stepcore.ops.zip import Zip

OPERATORS: Final[list[type[Operator]]] = []
BY_NAME: Final[dict[str, type[Operator]]] = {}


def add(operator: type[Operator]) -> None:
    """Make ``operator`` one of the language; :func:`remove` takes it out again."""
    OPERATORS.append(operator)
    BY_NAME.update(by_names([operator]))


def remove(operator: type[Operator]) -> None:
    """Take ``operator`` out of the language."""
    OPERATORS.remove(operator)
    for name in by_names([operator]):
        del BY_NAME[name]


for _each in (
    Map, Accum, Scan, Zip, Promote, Flatten, Reshape, Repeat, RepeatRef, Bufferize, Streamify, Copy, Partition, Merge,
    Identity,
):  # fmt: skip
    add(_each)

GENERATION_1: Final = Dialect("generation 1", OPERATORS, BY_NAME)

__all__ = [
    "BY_NAME", "GENERATION_1", "OPERATORS", "Accum", "Bufferize", "Copy", "Flatten", "Identity", "Map", "Merge",
    "Operator", "Partition", "Promote", "Repeat", "RepeatRef", "Reshape", "Scan", "Streamify", "Zip", "add", "remove",
]  # fmt: skip
