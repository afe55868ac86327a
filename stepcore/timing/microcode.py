"""What a unit does with its tokens, as a short program of a few instructions.

An operator says with it how it takes and gives tokens (the table of units of the timing chapter); the engine knows
instructions, no operators. Instructions run one after the other on the unit's clock ``t``, in cycles:

* ``peek``: wait until the next token is visible. ``take``: the same, and free its slot at ``t``.
* ``slot``: wait for a free slot. ``put``: fill it at ``t``; the token is visible after the channel's latency.
* ``enq``: ``slot``, then ``put``.
* ``work``: ``t`` grows by so many cycles; ``work_table`` takes them from a row of numbers, one after the other.
* ``times`` and ``times_table``: the instructions inside run so often.
* ``choose``: one of several programs, as the next number of a row says.
* ``request``: ask memory for so many bursts through a port; ``t`` becomes the cycle of the last answer.
* ``next_or_done``: wait until the next token is visible, or none comes any more.
* ``until_done``: one of several programs again and again, that of the channel whose next token is visible first, as
  long as tokens come.
* ``decide``: one of several programs, by arrival: that of the channel whose next token is visible first, or that has a
  free slot first; of equals the first. ``decide_among``: so often as channels are named, each once, for rows of names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias


class Op(IntEnum):
    """The instructions of the engine: ``LOOP`` and its kin are what ``times`` becomes, ``BRANCH`` is ``choose``.

    Their order is that in which the inner loop asks for them. ``FREE`` is the ``take`` of a token that was waited for.

    ``ADMIT`` is the loop around a ``DECIDE`` that takes each of some channels once. ``GUARD`` ends a unit that reads a
    row of numbers behind its end, which can only be where arrival decides how often.
    """

    PEEK = 0
    NEXT_OR_DONE = 1
    UNTIL = 2
    TAKE = 3
    FREE = 4
    ENQ = 5
    SLOT = 6
    PUT = 7
    NEXT = 8
    WORK = 9
    WORK_TABLE = 10
    LOOP = 11
    LOOP_TABLE = 12
    REQUEST = 13
    END = 14
    BRANCH = 15
    JUMP = 16
    DECIDE = 17
    ADMIT = 18
    GUARD = 19


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction; ``on`` is a channel or a port, ``amount`` a number of cycles, bursts or rounds."""

    op: Op
    on: int = -1
    amount: int = 0
    table: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Times:
    """Instructions that run ``count`` times, or as often as the next number of ``table`` says."""

    body: tuple[Instruction, ...]
    count: int = 0
    table: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Choose:
    """One of ``bodies``: the one that the next number of ``table`` counts, from 0."""

    bodies: tuple[tuple[Instruction, ...], ...]
    table: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decide:
    """One of ``bodies``, which arrival decides: that of the channel that is first, of equals the first in ``channels``.

    First is the channel whose next token is visible first, or, ``by_slot``, that has a free slot first. With ``rows``
    each time that this is reached takes the next row of places in ``channels``, and decides as often, each of them
    once. ``until_done``: again and again, as long as tokens come on one of them.
    """

    channels: tuple[int, ...]
    bodies: tuple[tuple[Instruction, ...], ...]
    by_slot: bool = False
    rows: tuple[tuple[int, ...], ...] | None = None
    until_done: bool = False

    @property
    def is_plain_loop(self) -> bool:
        """Return whether nothing is decided: a loop over the tokens of one channel."""
        return self.until_done and len(self.channels) == 1


Instruction: TypeAlias = Step | Times | Choose | Decide


def peek(*channels: int) -> list[Instruction]:
    """Wait for the next token of each of ``channels``."""
    return [Step(Op.PEEK, channel) for channel in channels]


def take(*channels: int) -> list[Instruction]:
    """Take the next token of each of ``channels``."""
    return [Step(Op.TAKE, channel) for channel in channels]


def slot(*channels: int) -> list[Instruction]:
    """Wait until each of ``channels`` has a free slot."""
    return [Step(Op.SLOT, channel) for channel in channels]


def put(*channels: int) -> list[Instruction]:
    """Give a token to each of ``channels``, whose slots were waited for."""
    return [Step(Op.PUT, channel) for channel in channels]


def enq(channel: int) -> list[Instruction]:
    """Give a token."""
    return [Step(Op.ENQ, channel)]


def enq_all(channels: Sequence[int]) -> list[Instruction]:
    """Give a token to each of ``channels`` at one time, when all of them have a slot."""
    return [*slot(*channels[:-1]), *enq(channels[-1]), *put(*channels[:-1])] if channels else []


def work(cycles: int) -> list[Instruction]:
    """Work for so many cycles."""
    return [Step(Op.WORK, amount=cycles)] if cycles else []


def work_table(cycles: Sequence[int]) -> list[Instruction]:
    """Work for as many cycles as the next number says."""
    return [Step(Op.WORK_TABLE, table=tuple(cycles))]


def request(port: int, bursts: int) -> list[Instruction]:
    """Ask memory for ``bursts`` bursts and wait for the last one; for none nothing is asked."""
    return [Step(Op.REQUEST, port, bursts)] if bursts else []


def next_or_done(channel: int) -> list[Instruction]:
    """Wait for the next token or for the end of the stream."""
    return [Step(Op.NEXT_OR_DONE, channel)]


def times(count: int | Sequence[int], body: Iterable[Instruction]) -> list[Instruction]:
    """Run ``body`` so often; a row of counts gives one for each time that this is reached."""
    if isinstance(count, int):
        return [Times(tuple(body), count)] if count else []
    return [Times(tuple(body), table=tuple(count))]


def choose(bodies: Iterable[Iterable[Instruction]], table: Sequence[int]) -> list[Instruction]:
    """Run one of ``bodies`` each time that this is reached: the one that the next number counts."""
    made = _bodies(bodies)
    return list(made[0]) if len(made) == 1 else [Choose(made, tuple(table))]


def decide(
    channels: Sequence[int], bodies: Iterable[Iterable[Instruction]], *, by_slot: bool = False
) -> list[Instruction]:
    """Run the one of ``bodies`` whose channel shows its next token first, or, ``by_slot``, has a free slot first.

    ``t`` is then no earlier than that. Of equals the first is taken.
    """
    return [Decide(tuple(channels), _bodies(bodies), by_slot)]


def decide_among(
    rows: Iterable[Sequence[int]], channels: Sequence[int], bodies: Iterable[Iterable[Instruction]]
) -> list[Instruction]:
    """Each time that this is reached, take the next of ``rows``: places in ``channels``; run the ``bodies`` of these.

    Each runs once, the one next whose channel shows its next token first.
    """
    return [Decide(tuple(channels), _bodies(bodies), rows=tuple(tuple(row) for row in rows))]


def until_done(channels: Sequence[int], bodies: Iterable[Iterable[Instruction]]) -> list[Instruction]:
    """As long as tokens come on ``channels``, run the body of the one that shows its next token first."""
    return [Decide(tuple(channels), _bodies(bodies), until_done=True)]


def _bodies(bodies: Iterable[Iterable[Instruction]]) -> tuple[tuple[Instruction, ...], ...]:
    return tuple(tuple(body) for body in bodies)


MANY: Final = 1 << 62  # more than any run: how often something runs that nobody knows before


@dataclass(slots=True)
class Counts:
    """At most how often things happen in the run of a program: tokens given to each channel, and decisions.

    ``decides``: it goes by arrival.
    """

    puts: Counter[int] = field(default_factory=Counter)
    decisions: int = 0
    decides: bool = False


def counts_of(body: Iterable[Instruction], arriving: Sequence[int]) -> Counts:
    """Count what a program does in a run, at most; of channel ``f`` come ``arriving[f]`` tokens, at most.

    Only where arrival decides it may be less.
    """
    found = Counts()
    _count(body, 1, arriving, found)
    return found


def _count(body: Iterable[Instruction], often: int, arriving: Sequence[int], found: Counts) -> None:
    for item in body:
        if isinstance(item, Times):
            _count(item.body, often * item.count if item.table is None else sum(item.table), arriving, found)
        elif isinstance(item, Choose):
            for number, count in Counter(item.table).items():
                _count(item.bodies[number], count, arriving, found)
        elif isinstance(item, Decide):
            _count_decided(item, often, arriving, found)
        elif item.op in (Op.ENQ, Op.PUT):
            found.puts[item.on] = min(found.puts[item.on] + often, MANY)


def _count_decided(item: Decide, often: int, arriving: Sequence[int], found: Counts) -> None:
    found.decides = True
    each = [often] * len(item.channels)
    if item.rows is not None:
        named = Counter(place for row in item.rows for place in row)
        each = [named[place] for place in range(len(item.channels))]
    elif not item.by_slot:  # no more often than tokens come
        each = [arriving[f] if item.until_done else min(often, arriving[f]) for f in item.channels]
    for inside, count in zip(item.bodies, each, strict=True):
        _count(inside, count, arriving, found)
    if not item.is_plain_loop:
        total = sum(each) if item.rows is not None or item.until_done else often
        found.decisions = min(found.decisions + total, MANY)
