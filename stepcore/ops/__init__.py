"""The operators, each in one file of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, overload

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

if TYPE_CHECKING:
    from stepcore.ops.eager_merge import EagerMerge
    from stepcore.ops.expand import Expand
    from stepcore.ops.feedback import Feedback
    from stepcore.ops.flat_map import FlatMap
    from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
    from stepcore.ops.linear_off_chip_store import LinearOffChipStore
    from stepcore.ops.parallelize import Parallelize
    from stepcore.ops.random_off_chip_load import RandomOffChipLoad
    from stepcore.ops.random_off_chip_store import RandomOffChipStore
    from stepcore.ops.reassemble import Reassemble
    from stepcore.ops.retile import Retile
    from stepcore.ops.retile_streamify import RetileStreamify

# Operators that most files do not name: their modules, and all their names, that of the class first. They are imported
# when somebody asks for them, since each takes as long as several programs take to be checked.
_LATER: Final = {
    "linear_off_chip_load": ("LinearOffChipLoad", "OffChipLoad", "DynOffChipLoad"),
    "linear_off_chip_store": ("LinearOffChipStore", "OffChipStore"),
    "random_off_chip_load": ("RandomOffChipLoad",),
    "random_off_chip_store": ("RandomOffChipStore",),
    "expand": ("Expand", "ExpandRef"),
    "flat_map": ("FlatMap",),
    "reassemble": ("Reassemble", "FlatReassemble"),
    "eager_merge": ("EagerMerge",),
    "parallelize": ("Parallelize",),
    "feedback": ("Feedback",),
    "retile": ("Retile",),
    "retile_streamify": ("RetileStreamify",),
}


class OperatorNames(Mapping[str, type[Operator]]):
    """Operators by all their names; those of :data:`_LATER` are imported when they are asked for."""

    def __init__(self) -> None:
        self._found: dict[str, type[Operator] | None] = {}

    def __getitem__(self, name: str) -> type[Operator]:
        found = self._found[name]
        if found is None:
            module = next(module for module, names in _LATER.items() if name in names)
            found = getattr(import_module(f"stepcore.ops.{module}"), _LATER[module][0])
            self._found[name] = found
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return an operator, or ``default``: each name in a program asks."""
        return self._found.get(name) or (self[name] if name in self._found else default)

    @property
    def imported(self) -> set[type[Operator]]:
        """The operators whose modules are there."""
        return {operator for operator in self._found.values() if operator is not None}

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class Operators(Sequence[type[Operator]]):
    """The operators in their order, by the names of their classes."""

    def __init__(self, by_name: OperatorNames) -> None:
        self._by_name = by_name
        self._names: list[str] = []

    @overload
    def __getitem__(self, place: int) -> type[Operator]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[type[Operator]]: ...
    def __getitem__(self, place: int | slice) -> type[Operator] | Sequence[type[Operator]]:
        if isinstance(place, slice):
            return [self._by_name[name] for name in self._names[place]]
        return self._by_name[self._names[place]]

    def __len__(self) -> int:
        return len(self._names)


BY_NAME: Final = OperatorNames()
OPERATORS: Final = Operators(BY_NAME)
GENERATION_1: Final = Dialect("generation 1", OPERATORS, BY_NAME)  # and of the second what has come so far


def work_out_calls() -> None:
    """Let the operators that are imported work out what is known of their calls, which they otherwise do when asked."""
    for operator in BY_NAME.imported:
        operator.calling.work_out()


def add(operator: type[Operator]) -> None:
    """Make ``operator`` one of the language; :func:`remove` takes it out again."""
    OPERATORS._names.append(operator.__name__)
    BY_NAME._found.update(by_names([operator]))
    GENERATION_1.forget()


def remove(operator: type[Operator]) -> None:
    """Take ``operator`` out of the language."""
    OPERATORS._names.remove(operator.__name__)
    for name in by_names([operator]):
        del BY_NAME._found[name]
    GENERATION_1.forget()


for _each in (
    Map, Accum, Scan, Zip, Promote, Flatten, Reshape, Repeat, RepeatRef, Bufferize, Streamify, Copy, Partition, Merge,
    Identity,
):  # fmt: skip
    add(_each)
for _names in _LATER.values():
    OPERATORS._names.append(_names[0])
    BY_NAME._found.update(dict.fromkeys(_names))

if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Operator]:
        """Return an operator that is imported when it is asked for."""
        if name in BY_NAME:
            return BY_NAME[name]
        raise AttributeError(f"module 'stepcore.ops' has no attribute {name!r}")


__all__ = [
    "BY_NAME", "GENERATION_1", "OPERATORS", "Accum", "Bufferize", "Copy", "EagerMerge", "Expand", "Feedback", "FlatMap",
    "Flatten", "Identity", "LinearOffChipLoad", "LinearOffChipStore", "Map", "Merge", "Operator", "Parallelize",
    "Partition", "Promote", "RandomOffChipLoad", "RandomOffChipStore", "Reassemble", "Repeat", "RepeatRef", "Reshape",
    "Retile", "RetileStreamify", "Scan", "Streamify", "Zip", "add", "remove",
]  # fmt: skip
