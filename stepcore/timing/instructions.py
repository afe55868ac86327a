"""The programs of all units in one row, as the inner loop reads them: jumps instead of nesting, few instructions.

A run takes as long as it has instructions to read, so those that always follow each other are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepcore.timing.microcode import Choose, Decide, Instruction, Op, Step, Times

MAX_NESTING: Final = 8  # loops inside each other
_HEAD: Final = 3  # numbers before those of the channels, of a decision
_EACH: Final = 3  # numbers of each channel
_WORKING: Final = (Op.PEEK, Op.ENQ, Op.PUT)  # instructions that work that follows can be part of


@dataclass(slots=True)
class Code:
    """The instructions of all units in one row, with jumps instead of nesting.

    ``first[k]`` and ``second[k]`` are the arguments of instruction ``k``; tables stand in ``tables``, one after the
    other, and are read from ``cursor[k]`` on; that of ``UNTIL`` is where it goes on behind its end.
    ``alone[k]`` is for a ``TAKE`` or an ``ENQ``, besides which there is only work in a loop, how many cycles that
    follows; -1 for all others.
    """

    op: list[int]
    first: list[int]
    second: list[int]
    cursor: list[int]
    tables: list[int]
    alone: list[int]
    decided: int = 0  # decisions that the instructions to come stand inside of

    @classmethod
    def empty(cls) -> Code:
        """Return no instructions."""
        return cls([], [], [], [], [], [])

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
        self.alone.append(-1)
        return len(self.op) - 1

    def _read(self, op: Op, numbers: Sequence[int], first: int = 0) -> int:
        """Append an instruction that reads the next of ``numbers`` each time."""
        if self.decided:
            self._append(Op.GUARD, second=len(self.tables) + len(numbers))
        return self._append(op, first, cursor=self._table(numbers))

    def _table(self, numbers: Sequence[int]) -> int:
        self.tables.extend(numbers)
        return len(self.tables) - len(numbers)

    def _block(self, body: Sequence[Instruction], depth: int) -> None:
        if depth > MAX_NESTING:  # of which each has a place in the stack
            raise ValueError(f"loops of a unit stand deeper than {MAX_NESTING} inside each other")
        for item in _joined(body):
            if isinstance(item, Times):
                self._times(item, depth)
            elif isinstance(item, Choose):
                self._choice(item, depth)
            elif isinstance(item, Decide):
                self._decision(item, depth)
            elif item.op is Op.WORK_TABLE:
                self._read(item.op, item.table)
            else:
                self._append(item.op, item.on if item.op is not Op.WORK else item.amount, item.amount)

    def _times(self, item: Times, depth: int) -> None:
        start = self._append(Op.LOOP, item.count) if item.table is None else self._read(Op.LOOP_TABLE, item.table)
        self._block(item.body, depth + 1)
        if self._hands_on(start + 1):
            self.alone[start + 1] = sum(self.first[start + 2 :])
        self._append(Op.NEXT, start + 1)
        self.second[start] = len(self.op)  # where an empty loop goes on

    def _hands_on(self, start: int) -> bool:
        """Return whether what was appended from ``start`` on is a token taken or given, and only work behind it."""
        return self.op[start] in (Op.TAKE, Op.ENQ) and all(op == Op.WORK for op in self.op[start + 1 :])

    def _choice(self, item: Choose, depth: int) -> None:
        start = self._read(Op.BRANCH, item.table)
        places, ends = [], []
        for body in item.bodies:
            places.append(len(self.op))
            self._block(body, depth)
            ends.append(self._append(Op.JUMP))
        for end in ends:
            self.first[end] = len(self.op)
        row = self.cursor[start]
        self.tables[row : row + len(item.table)] = [places[number] for number in item.table]

    def _decision(self, item: Decide, depth: int) -> None:
        if item.is_plain_loop:
            self._until(item, depth)
            return
        # Where the loop ends; whether each is taken once; by channel: the channel, whether it is open, its program.
        base = self._table([len(item.channels), -1, item.rows is not None])
        self._table([number for f in item.channels for number in (f, item.rows is None, 0)])
        admit = -1
        if item.rows is not None:
            admit = self._read(Op.ADMIT, [n for row in item.rows for n in (len(row), *row)], base)
        start = self._append(Op.DECIDE, base, int(item.by_slot))
        ends = []
        self.decided += 1
        for place, body in enumerate(item.bodies):
            self.tables[base + _HEAD + _EACH * place + 2] = len(self.op)
            self._block(body, depth + (item.rows is not None))
            ends.append(self._append(Op.JUMP, start))
        self.decided -= 1
        if item.until_done:
            self.tables[base + 1] = len(self.op)
            return
        for end in ends:
            self.first[end] = len(self.op)
        if admit >= 0:
            self._append(Op.NEXT, start)
            self.second[admit] = len(self.op)

    def _until(self, item: Decide, depth: int) -> None:
        start = self._append(Op.UNTIL, item.channels[0])
        self.decided += 1
        self._block(item.bodies[0], depth)
        self.decided -= 1
        self._append(Op.JUMP, start)
        self.cursor[start] = len(self.op)


def _joined(body: Iterable[Instruction]) -> list[Instruction]:
    """Let instructions that follow each other be one where that is the same: the fewer, the sooner a run is done.

    Work becomes part of the ``peek``, ``enq`` or ``put`` before it, and a ``peek`` part of the ``take`` of the same
    token that comes next: that waits, works for ``amount`` cycles, and frees the slot. A ``take`` of a token that was
    looked at before only frees its slot.
    """
    found: list[Instruction] = []
    seen: set[int] = set()
    for item in body:
        before = found[-1] if found else None
        if not isinstance(item, Step):
            seen.clear()
            found.append(item)
            continue
        if item.op is Op.PEEK:
            seen.add(item.on)
        if not isinstance(before, Step):
            found.append(item)
        elif item.op is Op.WORK and before.op in _WORKING:
            found[-1] = replace(before, amount=before.amount + item.amount)
        elif item.op is Op.TAKE and before.op is Op.PEEK and before.on == item.on:
            found[-1] = replace(item, amount=before.amount)
            seen.remove(item.on)
        elif item.op is Op.TAKE and item.on in seen:
            found.append(replace(item, op=Op.FREE))
            seen.remove(item.on)
        else:
            found.append(item)
    return found
