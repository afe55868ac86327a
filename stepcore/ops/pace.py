"""The pace of an operator: how its unit takes elements from FIFOs, and when it gives some.

A unit works in *steps*. Most take one element of each input and give one; a fold gives one in so many steps, a
repetition reads one element in so many. Whether a unit takes an element before there is a place for its result, or only
looks at it until then, decides how many elements a path holds besides those in its FIFOs. What a path needs and what it
holds (``stepcore.check.depths``) is composed of these; so is what a planner of programs has to know
(:meth:`Pace.late`). The rows are those of the table of units on the timing page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from stepcore.records import Record
from stepcore.sizes.dim import Dim

# What a FIFO holds where nobody says otherwise: ``fifo.depth`` of hardware.
FIFO_DEPTH: Final = 2

# Of each stream that another was computed from: the number of innermost dimensions within which the two are not in
# step. An element comes when that many dimensions of the former have passed.
Late: TypeAlias = Mapping[int, int]


class Routing(Enum):
    """Whether elements go where a selector says, or come back from there: at what pace, only the data know."""

    NOTHING = "does not route"
    SPLITS = "(data, selector) -> branches"
    JOINS = "(branches, selector) -> data"
    GATHERS = "(branches, selector) -> chunks of the selected branches side by side"
    ARRIVES = "streams -> (data, selector), in order of arrival"
    DEALS = "data -> (lanes, selector)"

    @property
    def by_selector(self) -> bool:
        """Return whether a selector, the last input, says where elements go or come from."""
        return self in (Routing.SPLITS, Routing.JOINS, Routing.GATHERS)


class Buffers(Enum):
    """Whether a unit fills buffers on the chip, or reads them."""

    NOTHING = "neither"
    FILLS = "elements -> buffers"
    READS = "buffers -> elements"


class LoopPart(Enum):
    """Whether an operator is an end of a loop (:mod:`stepcore.ops.feedback`)."""

    NOTHING = "neither"
    BEGINS = "nothing -> what comes back"
    ENDS = "what comes back -> nothing"


class Chunking(Record):
    """How results follow from outermost chunks that come one by one, as they do in loops.

    Most operators make of each chunk, one of each input, chunks of their own. ``so_far``: what a chunk becomes depends
    on those before it. ``at_end``: nothing comes before all are there. So many chunks, ``together``, lead to one.
    One chunk of the inputs ``held`` serves all chunks of the others.
    """

    so_far: bool = False
    at_end: bool = False
    together: Dim | int = 1
    held: tuple[int, ...] = ()


EACH_CHUNK: Final = Chunking()


class OffChipUse(Enum):
    """Whether a unit is a port of the memory off chip."""

    NOTHING = "neither loads nor stores"
    LOADS = "memory -> tiles"
    STORES = "tiles -> memory"


class Premise(Enum):
    """What a task has to have for an operator to be of use."""

    LATER = "something of generation 2"
    TILES = "tiles, or memory to load them from"
    MEMORY = "parameters"
    WRITTEN = "parameters that may be written"


class Read(Enum):
    """How a unit reads one input."""

    TAKEN = "taken before there is a place for the result: the unit holds one"
    KEPT = "looked at, and taken when the result was written"
    REPEATED = "looked at, and taken with the last of its copies: one for all dimensions that the result has more"
    SPREAD = "taken before the first of the results that it leads to"


class Pace(Record):
    """How a unit reads its inputs (the last of ``reads`` tells of all further ones) and writes its outputs.

    ``folds``: one result for all elements of the dimensions that it lacks. ``regroups``: dimensions become others, and
    elements stay as they are. ``ahead``: it may look at the following element before it writes (when, says
    :meth:`Operator.looks_ahead`). ``joins``: it only joins, and is part of the unit that applies a function to the
    result, if one does (``applies``).
    """

    reads: tuple[Read, ...]
    folds: bool = False
    regroups: bool = False
    ahead: bool = False
    joins: bool = False
    applies: bool = False

    def read(self, slot: int) -> Read:
        """Return how the input at ``slot`` is read."""
        return self.reads[min(slot, len(self.reads) - 1)]

    @property
    def hands_on(self) -> bool:
        """Return whether the elements that come out are those that came in: copies, shapes, tuples."""
        return self.read(0) is Read.TAKEN and not (self.folds or self.applies)

    def late(self, inputs: Sequence[tuple[Late, int]], dims: int, inserted: int | None = None) -> Late:
        """Return how late an output of ``dims`` dimensions is, from the lateness and the dimensions of each input.

        ``inserted`` is where a dimension came to the others (Promote).
        """
        found: dict[int, int] = {}
        for late, before in inputs:
            for root, held in late.items():
                found[root] = max(self._held(held, before, dims, inserted), found.get(root, 0))
        return found

    def _held(self, held: int, before: int, after: int, inserted: int | None) -> int:
        if not self.regroups:
            return max(0, held + after - before)
        if inserted is not None:
            return held + (held > inserted)
        return min(held, after)  # pragma: no mutate: of neighbours that became one, all are waited for
