"""Structures in which streams stand: one, many in a list, groups of structures in a tuple."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, TypeAlias

from stepcore.records import Record
from stepcore.text.wording import few


class One(Record):
    """One stream. ``stands`` is what messages write for it; ``selects`` marks a selector, which routes the others."""

    name: str = "input"
    stands: str = "STREAM"
    selects: bool = False


class Many(Record):
    """A list of at least ``least`` streams, from two on a tuple; of outputs, the parameter ``count`` says how many."""

    name: str = "branch"
    least: int = 1
    count: str = ""

    @property
    def kind(self) -> str:
        """What holds them, for messages."""
        return "list" if self.least < 2 else "tuple"


class Group(Record):
    """Structures side by side, in a tuple; an empty group is no stream at all.

    The parts of what an operator gives have the names ``fields`` where it names them: ``routed.selector``.
    """

    parts: tuple[Structure, ...]
    fields: tuple[str, ...] = ()


Structure: TypeAlias = One | Many | Group
NOTHING: Final = Group(())


def flat(value: Any) -> Iterator[Any]:
    """Yield what stands in lists and tuples inside each other, from left to right."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    else:
        yield value


def fits(structure: Structure, value: Any, is_stream: Callable[[Any], bool]) -> bool:
    """Return whether ``value`` has the structure; none has that of nothing, which is not written at all."""
    if isinstance(structure, One):
        return is_stream(value)
    if not isinstance(value, (list, tuple)):
        return False
    if isinstance(structure, Many):
        return len(value) >= structure.least and all(map(is_stream, value))
    if not 0 < len(value) == len(structure.parts):
        return False
    for part, item in zip(structure.parts, value, strict=True):  # no generator: each application asks
        if not (is_stream(item) if isinstance(part, One) else fits(part, item, is_stream)):
            return False
    return True


def least_of(structure: Structure) -> int:
    """Return how many streams a structure holds at least."""
    if isinstance(structure, Group):
        return sum(map(least_of, structure.parts))
    return 1 if isinstance(structure, One) else structure.least


def is_open(structure: Structure) -> bool:
    """Return whether a structure may hold more streams than it has to."""
    return isinstance(structure, Many) or (isinstance(structure, Group) and any(map(is_open, structure.parts)))


def shaped(structure: Structure, items: Sequence[Any]) -> Any:
    """Return flat ``items`` in the structure: one, a list, a tuple (with names where it has some), None for nothing."""
    return None if structure == NOTHING else _shaped(structure, iter(items), len(items) - least_of(structure))


def _shaped(structure: Structure, items: Iterator[Any], spare: int) -> Any:
    if isinstance(structure, One):
        return next(items)
    if isinstance(structure, Many):
        found = list(islice(items, structure.least + spare))
        return found if structure.least < 2 else tuple(found)
    parts = tuple(_shaped(part, items, spare) for part in structure.parts)
    return _named(structure.fields)(*parts) if structure.fields else parts


@cache
def _named(fields: tuple[str, ...]) -> Any:
    return namedtuple("Streams", fields)


def like(value: Any, items: list[Any]) -> Any:
    """Return ``items`` as a list or tuple as ``value`` is one, with its names."""
    if isinstance(value, list):
        return items
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def written(value: Any) -> str:
    """Return nested lists and tuples of texts as a program writes them, in brackets of their own."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else str(value)


def value_text(value: Any) -> str:
    """Return the value of a parameter as a program writes it: functions by their names, texts in quotes."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(getattr(value, "func_name", value))


def described(structure: Structure) -> str:
    """Return a structure in words."""
    if isinstance(structure, One):
        return "one stream"
    if isinstance(structure, Many):
        return f"a {structure.kind} of streams"
    if all(isinstance(part, One) for part in structure.parts):
        return f"a tuple of {few(len(structure.parts), 'stream')}"
    return ", and ".join(f"a {part.name}" if isinstance(part, One) else described(part) for part in structure.parts)


def sketched(structure: Structure, lone: str) -> Any:
    """Return names in the structure; a stream that stands alone is called ``lone``."""
    if isinstance(structure, One):
        return lone or structure.name
    if isinstance(structure, Many):
        return [structure.name, "..."] if structure.least < 2 else (structure.name, "...")
    return tuple(sketched(part, "") for part in structure.parts)


def parts_of(structure: Structure) -> Iterator[One | Many]:
    """Yield the single streams and lists of a structure, from left to right."""
    if isinstance(structure, Group):
        for part in structure.parts:
            yield from parts_of(part)
    else:
        yield structure
