"""FIFO depths: deep enough that nothing stalls, no deeper than that, and deep enough that nothing stops.

A depth changes no value. What depths do to the cycles is tried on the program's network, without its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from stepcore.check.fifos import depth_edit
from stepcore.check.rewriting import NoFix
from stepcore.cycles.timed import Timed
from stepcore.ops.base import DEPTH
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span
from stepcore.text.wording import counted
from stepcore.timing.exact import Timing, TooLong
from stepcore.timing.stops import Reruns, with_depths
from stepcore.types import element_bytes

_STEPS: Final = 1_500_000  # of units, in all trials for one program
_DEEPEST: Final = 1 << 16  # tokens
_WORTH: Final = 500  # one cycle in so many is worth a depth
_NOTHING: Final = (
    "with FIFOs of any depth the program would take as many cycles",
    "no FIFO whose depth is written holds less than it could, for as many cycles",
)


class Depths(ExplainedRewrite):
    """Set `depth=` of operators: the smallest with which nothing stalls, or with which nothing stops."""

    name: str = "depths"
    summary: str = "FIFOs as deep as they must be for nothing to stall or stop, and no deeper"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield one site that cures a stop, or one that removes stalls, and one that makes FIFOs shallower."""
        timed = subject.timed
        if timed is None:
            return
        trials = _Trials(subject, timed, Reruns(_STEPS))
        for find in (trials.cured,) if timed.cycles is None else (trials.deeper, trials.shallower):
            depths, sentence = dict[Span, int](), ""
            what = "trying out other depths would take too long"
            with suppress(TooLong, NoFix):
                depths, sentence = find()
                what = _NOTHING[find == trials.shallower] if timed.cycles is not None else "no depth cures the stop"
            if depths:
                with suppress(NoFix):
                    yield self._site(subject, depths, sentence)
            else:
                yield RewriteRefusal(self.name, what)

    def _site(self, subject: RewriteSubject, depths: Mapping[Span, int], sentence: str) -> RewriteSite:
        edits = tuple(depth_edit(subject.text, head, str(depth)) for head, depth in sorted(depths.items()))
        lines = ((subject.text[head.start : head.end], str(depth)) for head, depth in sorted(depths.items()))
        told = f"{sentence}: {_told(depths, subject)}"
        return RewriteSite(self.name, told, edits, (*lines, (HOW, sentence)))


def _told(depths: Mapping[Span, int], subject: RewriteSubject) -> str:
    values = sorted({*depths.values()})
    shown = ", ".join(map(str, values)) if len(values) <= 3 else f"{values[0]} to {values[-1]}"
    return f"depth {shown} of the results of {counted(len(depths), 'operator')}"


@dataclass
class _Trials:
    """Runs of the network of one program with other depths; all channels of one operator's text have one depth."""

    subject: RewriteSubject
    timed: Timed
    reruns: Reruns

    @cached_property
    def channels(self) -> Mapping[Span, list[int]]:
        """The channels of each operator's text that a depth can be written at."""
        found: dict[Span, list[int]] = {}
        for channel, stream in self.timed.program.streams.items():
            node = self.subject.producer(stream)
            if node is not None and self.subject.call(node) is not None:
                found.setdefault(node.op_span, []).append(channel)
        return found

    def depth(self, head: Span) -> int:
        """Return the depth of an operator's FIFOs as they are."""
        return max(self.timed.program.network.channels[channel].depth for channel in self.channels[head])

    def is_written(self, head: Span) -> bool:
        """Whether the program says the depth itself."""
        return any(DEPTH.name in node.params for node in self.subject.heads[head])

    def bytes(self, head: Span) -> int:
        """Return the bytes of one more element in all FIFOs of an operator's text."""
        timed, streams = self.timed, self.timed.program.streams
        elements = (timed.graph.streams[streams[channel]].type.element for channel in self.channels[head])
        return sum(element_bytes(element).bind(timed.program.sizes) for element in elements)

    def run(self, depths: Mapping[Span, int]) -> Timing:
        """Run the program with other depths; raise TooLong where no steps are left."""
        by_channel = {channel: depth for head, depth in depths.items() for channel in self.channels[head]}
        return self.reruns.run(with_depths(self.timed.program.network, by_channel))

    def cured(self) -> tuple[dict[Span, int], str]:
        """Return the depths that let a stopped program run, as small as can be."""
        depths: dict[Span, int] = {}
        for channel, depth in (self.timed.cure or {}).items():
            heads = [head for head, channels in self.channels.items() if channel in channels]
            if not heads:
                return {}, ""
            depths[heads[0]] = max(depth, depths.get(heads[0], 0))
        return depths, "nothing stops"

    def deeper(self) -> tuple[dict[Span, int], str]:
        """Return the smallest depths with which the program takes no more cycles than with unlimited ones."""
        now = self.timed.timing.cycles
        deep = {head: max(_DEEPEST, self.depth(head)) for head in self.channels}
        free = self.run(deep)
        if free.waiting or (now - free.cycles) * _WORTH < now:
            return {}, ""
        allowed = free.cycles + free.cycles // _WORTH
        depths = {
            head: max(self.depth(head), *(free.channels[channel].fill + 1 for channel in self.channels[head]))
            for head in deep
        }
        for head in sorted(depths, key=lambda head: (-self.bytes(head) * depths[head], head)):
            depths[head] = self._least(depths, head, self.depth(head), allowed)
        return {head: depth for head, depth in depths.items() if depth > self.depth(head)}, "nothing stalls"

    def shallower(self) -> tuple[dict[Span, int], str]:
        """Return smaller depths, where the program writes some, with which it takes no more cycles."""
        written = [head for head in self.channels if self.is_written(head) and self.depth(head) > 1]
        depths = {head: self.depth(head) for head in written}
        for head in sorted(written, key=lambda head: (-self.bytes(head) * depths[head], head)):
            depths[head] = self._least(depths, head, 1, self.timed.timing.cycles)
        return {head: depth for head, depth in depths.items() if depth < self.depth(head)}, "FIFOs hold what they need"

    def _least(self, depths: Mapping[Span, int], head: Span, low: int, allowed: int) -> int:
        """Return the least depth of ``head`` from ``low`` on with which no more than ``allowed`` cycles are taken."""
        high = depths[head]
        while low < high:
            middle = (low + high) // 2
            found = self.run({**depths, head: middle})
            if found.waiting or found.cycles > allowed:
                low = middle + 1
            else:
                high = middle
        return high
