"""Lanes of programs, and families of streams: one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from stepagents.lower.functions import fresh_name
from stepagents.schedules.parts import LABELS
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar

POSITION: Final = Scalar("int64")


class MemoryView(Record):
    """A tensor whose memory has other sizes: ``dims``, and what makes the tensor of the memory, as a method call."""

    dims: tuple[Dim, ...]
    method: str


class ProgramLane(Record):
    """Lanes along the blocks of a label: each has a run of blocks, or every ``count``-th one where ``dealt``.

    ``called`` is the name of their index where the label's own is one of the user's.
    """

    label: str
    count: int
    dealt: bool = False
    called: str = ""

    @property
    def index(self) -> str:
        """The name of their index."""
        return self.called or LABELS[self.label].index

    def beside(self, names: set[str]) -> ProgramLane:
        """Return the same lanes with an index that is none of ``names``: a size ``i`` has no value in ``for i in``."""
        return replace(self, called=fresh_name(self.index, {*names})) if self.index in names else self


Lanes: TypeAlias = tuple[ProgramLane, ...]
Loops: TypeAlias = Sequence[tuple[str, Dim]]  # the fastest first, each with the size that it runs over


def lane_count(lanes: Lanes) -> int:
    """Return how many lanes there are together."""
    return prod(lane.count for lane in lanes)


class Family(Record):
    """Streams of one name: an index for each of ``lanes``, then ``copies`` of each, shared by ``readers``."""

    name: str
    lanes: tuple[ProgramLane, ...] = ()
    readers: tuple[ProgramLane, ...] = ()
    uses: int = 1

    def text(self, use: int = 0) -> str:
        """Return the stream of the lanes whose indices are in scope, the ``use``-th copy of it."""
        text = self.name + "".join(f"[{lane.index}]" for lane in self.lanes)
        place = ""
        for lane in self.readers:
            place = lane.index if not place else f"{lane.count} * {bracketed(place)} + {lane.index}"
        if self.uses > 1:
            first = f"{self.uses} * {bracketed(place)}" if place else ""
            place = " + ".join(filter(None, (first, str(use) if use or not first else "")))
        return f"{text}[{place}]" if place else text


def bracketed(text: str) -> str:
    """Return a name as it is, and anything else in brackets."""
    return text if text.isidentifier() else f"({text})"


def tuple_text(streams: Sequence[str]) -> str:
    """Return streams as the argument of an operator."""
    return streams[0] if len(streams) == 1 else f"({', '.join(streams)})"


def times(*factors: str) -> str:
    """Return the product of factors, without those that are 1."""
    if "0" in factors:
        return "0"
    kept = [each for each in factors if each != "1"]
    return (
        " * ".join(each if " " not in each or len(kept) == 1 or "//" not in each else f"({each})" for each in kept)
        or "1"
    )
