"""What a unit does with its tokens, as a short program of a few instructions.

An operator says with it how it takes and gives tokens (the table of units of the timing chapter); the engine knows
instructions, no operators. Instructions run one after the other on the unit's clock ``t``, in cycles:

* ``peek``: wait until the next token is visible. ``take``: the same, and free its slot at ``t``.
* ``slot``: wait for a free slot. ``put``: fill it at ``t``; the token is visible after the channel's latency.
* ``enq``: ``slot``, then ``put``.
* ``work``: ``t`` grows by so many cycles; ``work_table`` takes them from a row of numbers, one after the other.
* ``times`` and ``times_table``: the instructions inside run so often.
* ``request``: ask memory for so many bursts through a port; ``t`` becomes the cycle of the last answer.
* ``next_or_done``: wait until the next token is visible, or none comes any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias


class Op(IntEnum):
    """The instructions of the engine. ``LOOP`` and its kin are what ``times`` becomes."""

    PEEK = 0
    TAKE = 1
    ENQ = 2
    SLOT = 3
    PUT = 4
    WORK = 5
    WORK_TABLE = 6
    LOOP = 7
    LOOP_TABLE = 8
    NEXT = 9
    REQUEST = 10
    NEXT_OR_DONE = 11
    END = 12


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


Instruction: TypeAlias = Step | Times


def peek(*channels: int) -> list[Instruction]:
    """Wait for the next token of each of ``channels``."""
    return [Step(Op.PEEK, channel) for channel in channels]


def take(*channels: int) -> list[Instruction]:
    """Take the next token of each of ``channels``."""
    return [Step(Op.TAKE, channel) for channel in channels]


def enq(channel: int) -> list[Instruction]:
    """Give a token."""
    return [Step(Op.ENQ, channel)]


def enq_all(channels: Sequence[int]) -> list[Instruction]:
    """Give a token to each of ``channels`` at one time, when all of them have a slot."""
    return [*(Step(Op.SLOT, channel) for channel in channels), *(Step(Op.PUT, channel) for channel in channels)]


def work(cycles: int) -> list[Instruction]:
    """Work for so many cycles."""
    return [Step(Op.WORK, amount=cycles)] if cycles else []


def work_table(cycles: Sequence[int]) -> list[Instruction]:
    """Work for as many cycles as the next number says."""
    return [Step(Op.WORK_TABLE, table=tuple(cycles))]


def request(port: int, bursts: int) -> list[Instruction]:
    """Ask memory for ``bursts`` bursts and wait for the last one."""
    return [Step(Op.REQUEST, port, bursts)]


def next_or_done(channel: int) -> list[Instruction]:
    """Wait for the next token or for the end of the stream."""
    return [Step(Op.NEXT_OR_DONE, channel)]


def times(count: int | Sequence[int], body: Iterable[Instruction]) -> list[Instruction]:
    """Run ``body`` so often; a row of counts gives one for each time that this is reached."""
    if isinstance(count, int):
        return [Times(tuple(body), count)] if count else []
    return [Times(tuple(body), table=tuple(count))]


MAX_NESTING: Final = 8  # loops inside each other


@dataclass(slots=True)
class Code:
    """The instructions of all units in one row, with jumps instead of nesting.

    ``first[k]`` and ``second[k]`` are the arguments of instruction ``k``; tables stand in ``tables``, one after the
    other, and are read from ``cursor[k]`` on.
    """

    op: list[int]
    first: list[int]
    second: list[int]
    cursor: list[int]
    tables: list[int]

    @classmethod
    def empty(cls) -> Code:
        """Return no instructions."""
        return cls([], [], [], [], [])

    def add(self, body: Sequence[Instruction]) -> int:
        """Append the program of a unit; return where it begins.

        Raises:
            ValueError: loops stand deeper inside each other than the engine counts.
        """
        start = len(self.op)
        self._block(body, 0)
        self._append(Op.END)
        return start

    def _append(self, op: Op, first: int = 0, second: int = 0, cursor: int = 0) -> int:
        self.op.append(int(op))
        self.first.append(first)
        self.second.append(second)
        self.cursor.append(cursor)
        return len(self.op) - 1

    def _table(self, numbers: Sequence[int]) -> int:
        self.tables.extend(numbers)
        return len(self.tables) - len(numbers)

    def _block(self, body: Sequence[Instruction], depth: int) -> None:
        if depth > MAX_NESTING:
            raise ValueError(f"loops of a unit stand deeper than {MAX_NESTING} inside each other")
        for item in body:
            if isinstance(item, Times):
                self._times(item, depth)
            elif item.op is Op.WORK_TABLE:
                self._append(item.op, cursor=self._table(item.table))
            else:
                self._append(item.op, item.on if item.op is not Op.WORK else item.amount, item.amount)

    def _times(self, item: Times, depth: int) -> None:
        if item.table is None:
            start = self._append(Op.LOOP, item.count)
        else:
            start = self._append(Op.LOOP_TABLE, cursor=self._table(item.table))
        self._block(item.body, depth + 1)
        self._append(Op.NEXT, start + 1)
        self.second[start] = len(self.op)  # where an empty loop goes on
