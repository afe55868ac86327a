"""How operators are given streams, and hand out their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from stepcore.ops.calling.structures import (
    NOTHING,
    Group,
    Many,
    One,
    Structure,
    described,
    fits,
    is_open,
    least_of,
    parts_of,
    shaped,
    sketched,
    written,
)
from stepcore.records import Record
from stepcore.text.wording import few

_ORDINALS: Final = ("first", "second", "third")


class Inputs(Record):
    """How ``.apply(...)`` takes its streams: in one of several structures, the first of which is the usual one.

    ``chains`` says that more streams than these can be taken two by two, a result with the next.
    """

    ways: tuple[Structure, ...]
    chains: bool = False

    @cached_property
    def text(self) -> str:
        """What it takes, in words."""
        return ", or ".join("no stream" if way == NOTHING else described(way) for way in self.ways)

    def sketch(self, lone: str = "input") -> str:
        """Return what stands in the brackets of ``.apply``, by names; one stream alone is called ``lone``."""
        way = self.ways[0]
        return "" if way == NOTHING else written(sketched(way, lone))

    def fits(self, value: Any, is_stream: Callable[[Any], bool]) -> bool:
        """Return whether ``value`` is structured as one of the ways."""
        ways = self.ways
        return fits(ways[0], value, is_stream) or any(fits(way, value, is_stream) for way in ways[1:])

    def write(self, texts: Sequence[str]) -> str:
        """Return what stands in the brackets of ``.apply`` for flat ``texts`` of streams.

        Raises:
            ValueError: the operator does not take so many.
        """
        for way in self.ways:
            if len(texts) == least_of(way) or (len(texts) > least_of(way) and is_open(way)):
                found = shaped(way, texts)
                return "" if found is None else written(tuple(found) if isinstance(way, Many) else found)
        raise ValueError(f"this operator takes {self.text}, found {few(len(texts), 'stream')}")

    def fields(self, first: int, lone: str) -> str:
        """Return the brackets of ``.apply`` as a snippet with tab stops from ``first`` on; ``lone`` is that of one."""
        way = self.ways[0]
        if isinstance(way, Group):
            stops = ", ".join(f"${number}" for number, _ in enumerate(way.parts, first))
            return f"(({stops}))" if stops else "()"
        return f"({lone})"

    @property
    def parts(self) -> tuple[Structure, ...]:
        """What stands side by side in the usual way."""
        return self.ways[0].parts if isinstance(self.ways[0], Group) else self.ways[:1]

    @property
    def selector(self) -> int | None:
        """Which of :attr:`parts` selects; None where nothing is routed."""
        return next((at for at, part in enumerate(self.parts) if isinstance(part, One) and part.selects), None)

    @cached_property
    def takes_one(self) -> bool:
        """Whether one of the ways is a stream alone."""
        return self.takes(One)

    def takes(self, kind: type[Structure]) -> bool:
        """Return whether one of the ways is a structure of this kind."""
        return any(isinstance(way, kind) for way in self.ways)

    def ordinal(self, index: int, count: int) -> str:
        """Return what messages call input ``index`` of ``count`` (flat) when it has no name."""
        if count == 1:
            return "the input"
        if any(isinstance(part, Many) for part in self.parts) and len(self.parts) > 1:
            part = next(part for part in reversed(self.parts) if isinstance(part, One))
            return f"the {part.name}" if index == count - 1 else f"number {index}"
        return f"the {_ORDINALS[index]} input" if index < len(_ORDINALS) else f"input {index + 1}"


class Outputs(Record):
    """What ``.apply(...)`` returns. ``more`` is the way out for a program that wants more streams than there are.

    Where the parameter ``given`` has a value, it returns ``instead``.
    """

    structure: Structure
    more: str = ""
    given: str = ""
    instead: Outputs | None = None

    def of(self, params: Mapping[str, Any]) -> Outputs:
        """Return what comes of a call with these parameters."""
        return self if self.instead is None or params.get(self.given) is None else self.instead

    @cached_property
    def text(self) -> str:
        """What it gives, in words."""
        found = "nothing" if self.structure == NOTHING else described(self.structure)
        return found if self.instead is None else f"{found}; with {self.given}, {self.instead.text}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what stands side by side, where it has some."""
        return self.structure.fields if isinstance(self.structure, Group) else ()

    @cached_property
    def counted_by(self) -> str:
        """The parameter that says how many streams there are; an empty text where that is always the same."""
        return next((part.count for part in parts_of(self.structure) if isinstance(part, Many)), "")

    def count(self, number: int = 0) -> int:
        """Return how many streams there are (flat), ``number`` being the value of :attr:`counted_by`."""
        return number * self._lists + self._alone

    def shape(self, items: Sequence[Any]) -> Any:
        """Return the flat ``items`` as the program gets them."""
        if isinstance(self.structure, One):
            return items[0]
        if isinstance(self.structure, Many):
            return list(items) if self.structure.least < 2 else tuple(items)
        return tuple(items) if self._is_plain else shaped(self.structure, items)

    # What the structure comes to, because each application asks.

    @cached_property
    def _lists(self) -> int:
        return sum(isinstance(part, Many) for part in parts_of(self.structure))

    @cached_property
    def _alone(self) -> int:
        return sum(isinstance(part, One) for part in parts_of(self.structure))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether it is a tuple of streams without names."""
        group = self.structure
        return (
            isinstance(group, Group)
            and group.parts != ()
            and not group.fields
            and all(isinstance(part, One) for part in group.parts)
        )

    def write(self, texts: Sequence[str]) -> str:
        """Return the left side of an assignment for flat ``texts``, as flat as it can be; empty where nothing comes."""
        if isinstance(self.structure, Many) and len(texts) == 1:
            return f"[{texts[0]}]"
        found = self.shape(texts)
        return ", ".join(map(written, found)) if isinstance(found, (list, tuple)) else found or ""


def pair(second: str, *, selects: bool = False, chains: bool = False) -> Inputs:
    """Return the convention of two streams, of which messages write ``second`` for the second."""
    return Inputs((Group((One("first", "DATA"), One("second", second, selects))),), chains)


NO_INPUT: Final = Inputs((NOTHING,))
ONE_INPUT: Final = Inputs((One(),))
ONE_OR_TUPLE: Final = Inputs((One(), Many("input", 2)))
BRANCHES_AND_SELECTOR: Final = Inputs((Group((Many(), One("selector", "SELECTOR", selects=True))),))
NO_OUTPUT: Final = Outputs(NOTHING)
ONE_OUTPUT: Final = Outputs(One("result"))
