"""Loops, literally: the whole program is run again and again on what has come back so far, until nothing grows.

A stream that may still grow is cut to what an operator can use of it. When nothing grows, the first EagerMerge of a
loop that has a chunk takes one, of its first input that has some; when none has, loops whose size nobody knows end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .base import Operator, selected, streams_in
from .elements import Element
from .streams import OracleError, Stream, require

MOST = 4096  # passes


@dataclass
class Loops:
    """What is known of the loops of one program, by the order in which they are made, and of its EagerMerges."""

    decided: list[tuple[int, ...]] | None = None  # what timing says of each EagerMerge
    came: list[list[Any]] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)
    expected: list[int | None] = field(default_factory=list)
    orders: list[list[int]] = field(default_factory=list)
    # Of one pass:
    numbers: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    closing: dict[int, Stream] = field(default_factory=dict)
    inputs: list[list[Stream]] = field(default_factory=list)

    def run(self, body: Callable[[], Any]) -> Any:
        """The result of the last pass, in which every loop has ended."""
        for _ in range(MOST):
            self.numbers, self.kept, self.closing, self.inputs = {}, [], {}, []
            found = body()
            require(len(self.closing) == len(self.came), "a loop is not closed")
            if not (self._grow() or self._arrive() or self._end()):
                return found
        raise OracleError("a loop does not end")

    def begin(self, loop: Any, expected: int | None) -> None:
        """Number the loops of a pass."""
        number = len(self.kept)
        self.kept.append(loop)
        self.numbers[id(loop)] = number
        if number == len(self.came):
            self.came.append([])
            self.ended.append(expected == 0)
            self.expected.append(expected)

    def _grow(self) -> bool:
        grew = False
        for number, stream in self.closing.items():
            lists, came, expected = stream.lists(), self.came[number], self.expected[number]
            require(len(lists) >= len(came), "what came back is no longer there")
            require(expected is None or len(lists) <= expected, "more comes back than the loop says")
            grew |= len(lists) > len(came)
            require(len(lists) == len(came) or not (self.ended[number] and expected is None), "a loop ended too early")
            self.came[number] = lists
            if not self.ended[number] and (not stream.growing or len(lists) == expected):
                self.ended[number] = grew = True
        return grew

    def _arrive(self) -> bool:
        for number, inputs in enumerate(self.inputs):
            order = self.orders[number]
            waiting = [k for k, stream in enumerate(inputs) if len(stream.lists()) > order.count(k)]
            if self.in_loop(number) and waiting:
                wanted = self.decided[number][len(order) :][:1] if self.decided is not None else ()
                order.append(wanted[0] if wanted and wanted[0] in waiting else waiting[0])
                return True
        return False

    def _end(self) -> bool:
        if all(self.ended):
            return False
        open_ = [number for number, ended in enumerate(self.ended) if not ended and self.expected[number] is None]
        require(bool(open_), "a loop waits for ever")
        for number in open_:
            self.ended[number] = True
        return True

    def in_loop(self, merge: int) -> bool:
        """Whether what an EagerMerge gives comes back to it."""
        return merge in self._sources({part for stream in self.inputs[merge] for part in stream.made_of})

    def _sources(self, parts: set[Any]) -> set[Any]:
        """All merges and loops that something is made of, what comes back included."""
        found: set[Any] = set()
        rest = set(parts)
        while rest:
            part = rest.pop()
            found.add(part)
            if isinstance(part, str) and int(part[1:]) in self.closing:
                rest |= set(self.closing[int(part[1:])].made_of) - found
        return found

    def usable(self, op: Operator, inputs: Any) -> Any:
        """The inputs of an operator as far as it can use them while some may grow; None where it gives nothing yet."""
        given, name = streams_in(inputs), type(op).__name__
        known: dict[str, Any] = vars(op)
        if name == "Promote" and known["b"] > given[0].rank:
            return None
        counts = [len(stream.lists()) for stream in given]
        if name in ("Merge", "Reassemble"):
            counts = _asked(given)
        elif name == "Expand" and known["b"] > given[0].rank:
            counts = [1, counts[1]] if counts[0] else [0, 0]
        else:
            least = min(counts)
            if name == "Reshape" and given[0].rank in known["L"]:
                least -= least % known["S"]
            counts = [least] * len(given)
        return _like(inputs, iter([cut(stream, count) for stream, count in zip(given, counts, strict=True)]))

    def cut_to_none(self, inputs: Any) -> Any:
        """The same streams without any chunk."""
        return _like(inputs, iter([cut(stream, 0) for stream in streams_in(inputs)]))


def cut(stream: Stream, count: int) -> Stream:
    """The first chunks of a stream."""
    like = [size if isinstance(size, int) else None for size in stream.sizes]
    found = Stream.of(stream.lists()[:count], like, stream.element)
    found.later, found.growing, found.made_of = stream.later, stream.growing, stream.made_of
    return found


def _asked(given: list[Stream]) -> list[int]:
    """How many chunks of each branch, and of the selector, can be put together."""
    *branches, selector = given
    found = [0] * len(given)
    asked = [0] * len(branches)
    for number, chunk in enumerate(selector.chunks(selector.rank), 1):
        for (bits,) in chunk:
            for branch in selected(bits):
                asked[branch] += 1
        if any(ask > len(stream.lists()) for ask, stream in zip(asked, branches, strict=True)):
            break
        found = [*asked, number]
    return found


def _like(inputs: Any, streams: Any) -> Any:
    if isinstance(inputs, Stream):
        return next(streams)
    return type(inputs)(_like(part, streams) for part in inputs)


@dataclass(frozen=True, kw_only=True)
class Feedback(Operator):
    """`apply` gives what came back so far, `close` says what comes back."""

    element: Element
    dims: Any

    def __post_init__(self) -> None:
        assert self.loops is not None, "a program has loops"
        self.loops.begin(self, self.dims[-1])

    def run(self, inputs: Any) -> Stream:
        """Nothing -> `dims` of `element`; sizes that only a run knows are None."""
        assert self.loops is not None, "a program has loops"
        number = self.loops.numbers[id(self)]
        found = Stream.of(self.loops.came[number], self.dims, self.element)
        found.growing, found.made_of = not self.loops.ended[number], frozenset({f"l{number}"})
        return found

    def close(self, inputs: Any) -> None:
        """Take what comes back."""
        assert self.loops is not None and isinstance(inputs, Stream), "a loop takes one stream"
        if self.tape is not None:
            self.tape.append(inputs)
        require(inputs.element == self.element, f"{inputs.element} comes back by a loop of {self.element}")
        require(self.loops.numbers[id(self)] not in self.loops.closing, "a loop is closed twice")
        self.loops.closing[self.loops.numbers[id(self)]] = inputs
