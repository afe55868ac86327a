"""What happened when in a run: for each unit what it did, for each channel what passed, and what memory moved.

A recorder takes the place of the rows in which the inner loop counts cycles and tokens, so that a run without one costs
nothing for it. Every cycle of a unit up to its clock is work, starved, blocked, or a wait for memory, so what a unit
did is a row of durations without gaps. Where the engine skips periods, what was recorded of one is repeated.

Only so much is kept: beyond that, neighbours are *joined*. Sums stay what they were: cycles of a kind, tokens, bursts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, SupportsIndex, TypeAlias

WORKED, STARVED, BLOCKED, MEMORY = KINDS = ("work", "starved", "blocked", "memory")
MOST_SPANS: Final = 100_000
MOST_PASSES: Final = 60_000
MOST_WINDOWS: Final = 20_000
_TOGETHER: Final = 16  # neighbours that become one for each kind

Span: TypeAlias = tuple[str, int]  # kind, cycles
Pass: TypeAlias = tuple[int, int]  # tokens, the cycle of the last one
Window: TypeAlias = tuple[int, int, int]  # first cycle, cycles, bursts


class _Counts(list[int]):
    """A row of sums that tells by how much one of them grows; whole rows are replaced without a word."""

    def __init__(self, size: int, grown: Any) -> None:
        super().__init__([0] * size)
        self._grown = grown

    def __setitem__(self, index: SupportsIndex | slice, value: Any) -> None:
        if isinstance(index, int):
            self._grown(index, value - self[index])
        super().__setitem__(index, value)


@dataclass(frozen=True, slots=True)
class Mark:
    """How much was recorded of each unit, each channel and memory; ``joined`` is how often it was joined by then."""

    joined: int
    spans: list[int]
    put: list[int]
    taken: list[int]
    windows: int


@dataclass(frozen=True, slots=True)
class StretchTotals:
    """What a stretch comes to: cycles by kind and unit, tokens by channel, bursts."""

    spent: Mapping[str, Sequence[int]]
    tokens: Sequence[int]
    bursts: int


@dataclass(slots=True)
class RunRecorder:
    """The record of one run. ``spans`` by unit, ``put`` and ``taken`` by channel, ``windows`` of memory, in order."""

    spans: list[list[Span]] = field(default_factory=list)
    put: list[list[Pass]] = field(default_factory=list)
    taken: list[list[Pass]] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    clock: list[int] = field(default_factory=list)  # by unit
    ends: tuple[list[int], list[int]] = ([], [])
    joined: int = 0
    most: tuple[int, int] = field(default_factory=lambda: (MOST_SPANS, MOST_PASSES))
    _kept: list[int] = field(default_factory=lambda: [0, 0])  # spans, passes

    def begin(self, units: int, ends: tuple[list[int], list[int]]) -> None:
        """Start a record of so many units, and of channels with these producers and consumers."""
        channels = len(ends[0])
        self.spans = [[] for _ in range(units)]
        self.put, self.taken = [[] for _ in range(channels)], [[] for _ in range(channels)]
        self.windows, self.clock, self.ends, self._kept = [], [0] * units, ends, [0, 0]
        # Joining leaves some for each unit, so that of very many more are kept.
        self.most = max(self.most[0], 2 * _TOGETHER * units), max(self.most[1], 4 * _TOGETHER * channels)

    def cycles(self, kind: str) -> list[int]:
        """Return a row in which the cycles of ``kind`` are counted by unit."""

        def grown(unit: int, more: int) -> None:
            if more:
                self.spans[unit].append((kind, more))
                self.clock[unit] += more
                self._kept[0] += 1
                if self._kept[0] > self.most[0]:
                    self._join()

        return _Counts(len(self.spans), grown)

    def tokens(self, passes: list[list[Pass]], unit: list[int]) -> list[int]:
        """Return a row in which tokens are counted by channel; ``unit`` gives or takes them."""

        def grown(channel: int, more: int) -> None:
            passes[channel].append((more, self.clock[unit[channel]]))
            self._kept[1] += 1
            if self._kept[1] > self.most[1]:
                self._join()

        return _Counts(len(passes), grown)

    def window(self, start: int, length: int, bursts: int) -> None:
        """Take in that memory dispatched so many bursts in ``length`` cycles from ``start`` on."""
        self.windows.append((start, length, bursts))
        if len(self.windows) > MOST_WINDOWS:
            self._join()

    def mark(self) -> Mark:
        """Return where the record stands."""
        spans, put, taken = ([len(row) for row in rows] for rows in (self.spans, self.put, self.taken))
        return Mark(self.joined, spans, put, taken, len(self.windows))

    def repeat(self, mark: Mark, period: int, times: int, totals: StretchTotals) -> None:
        """Let what was recorded since ``mark``, which took ``period`` cycles, happen ``times`` more often.

        ``totals`` is what that comes to; it is all that counts where the record was joined since.
        """
        if mark.joined == self.joined:
            self._again(mark, period, times)
        else:
            self._as_one([period * times] * len(self.spans), totals)
        self._join()

    def stretch(self, totals: StretchTotals) -> None:
        """Let a stretch follow of which only ``totals`` are known."""
        self._as_one([sum(cycles) for cycles in zip(*totals.spent.values(), strict=True)], totals)
        self._join()

    def _again(self, mark: Mark, period: int, times: int) -> None:
        room = self.most[0] // max(len(self.spans), 1)
        for unit, row in enumerate(self.spans):
            new = row[mark.spans[unit] :]
            shares = [1] * times if len(new) * times <= room else _shares(times, room // len(KINDS))
            each = new if len(shares) == times else _sums(new)
            row += [(kind, cycles * share) for share in shares for kind, cycles in each]
            self.clock[unit] += sum(cycles for _kind, cycles in new) * times
        for passes, lengths in ((self.put, mark.put), (self.taken, mark.taken)):
            room = self.most[1] // max(2 * len(passes), 1)
            for passed, length in zip(passes, lengths, strict=True):
                passed.extend(_passed(passed[length:], period, times, room))
        self.windows += _moved(self.windows[mark.windows :], period, times, MOST_WINDOWS)

    def _as_one(self, cycles: Sequence[int], totals: StretchTotals) -> None:
        for unit, row in enumerate(self.spans):
            spent = [(kind, totals.spent[kind][unit]) for kind in KINDS if totals.spent[kind][unit]]
            row.extend(spent)
            self.clock[unit] += sum(more for _kind, more in spent)
        for passes, units in zip((self.put, self.taken), self.ends, strict=True):
            for passed, tokens, unit in zip(passes, totals.tokens, units, strict=True):
                if tokens:
                    passed.append((tokens, passed[-1][1] + cycles[unit]))
        if totals.bursts:
            self.windows.append((sum(self.windows[-1][:2]), max(cycles), totals.bursts))

    def _join(self) -> None:
        """Join neighbours until there is room again."""
        while sum(map(len, self.spans)) > self.most[0] // 2:
            self.joined += 1
            self.spans[:] = [[span for some in _groups(row) for span in _sums(some)] for row in self.spans]
        while sum(map(len, (*self.put, *self.taken))) > self.most[1] // 2:
            self.joined += 1
            for passes in (self.put, self.taken):
                passes[:] = [[_pass(some) for some in _groups(row)] for row in passes]
        if len(self.windows) > MOST_WINDOWS // 2:
            self.joined += 1
            self.windows[:] = [_span_of(some) for some in _groups(self.windows)]
        self._kept = [sum(map(len, self.spans)), sum(map(len, (*self.put, *self.taken)))]


def _groups(row: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (row[at : at + _TOGETHER] for at in range(0, len(row), _TOGETHER))


def _sums(spans: Iterable[Span]) -> list[Span]:
    sums = dict.fromkeys(KINDS, 0)
    for kind, cycles in spans:
        sums[kind] += cycles
    return [(kind, cycles) for kind, cycles in sums.items() if cycles]


def _pass(passes: Sequence[Pass]) -> Pass:
    return sum(tokens for tokens, _cycle in passes), passes[-1][1]


def _span_of(windows: Sequence[Window]) -> Window:
    start, end = windows[0][0], max(first + cycles for first, cycles, _bursts in windows)
    return start, end - start, sum(bursts for _first, _cycles, bursts in windows)


def _shares(times: int, most: int) -> list[int]:
    """Return ``times`` as at most ``most`` numbers that differ by one at most."""
    copies = max(min(times, most), 1)
    each, rest = divmod(times, copies)
    return [each + (number < rest) for number in range(copies)]


def _passed(new: list[Pass], period: int, times: int, most: int) -> list[Pass]:
    if not new:
        return []
    if len(new) * times <= most:
        return [(tokens, cycle + period * k) for k in range(1, times + 1) for tokens, cycle in new]
    tokens, cycle = _pass(new)
    found, done = [], 0
    for share in _shares(times, most):
        done += share
        found.append((tokens * share, cycle + period * done))
    return found


def _moved(new: list[Window], period: int, times: int, most: int) -> list[Window]:
    if not new:
        return []
    if len(new) * times <= most:
        return [(start + period * k, length, bursts) for k in range(1, times + 1) for start, length, bursts in new]
    start, _length, bursts = _span_of(new)
    found, done = [], 1
    for share in _shares(times, most // 2):
        found.append((start + period * done, period * share, bursts * share))
        done += share
    return found
