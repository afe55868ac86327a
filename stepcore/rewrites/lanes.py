"""Several units side by side for what one does: chunks are dealt out in turn, and put together in order.

Side condition: the unit works on every outermost chunk by itself: Map, Scan, and Accum, which never folds the outermost
dimension. It reads one stream with a fixed outermost size, and its text gives one unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.cycles.timed import Timed
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.statements import lines_before
from stepcore.rewrites.subject import RewriteSite, RewriteSubject
from stepcore.sizes.dim import DimError

_WORKS: Final = ("Map", "Scan", "Accum")
_COUNTS: Final = (2, 4)
_BUSY: Final = 2  # one cycle in so many has to be work of the unit


class Lanes(Record):
    """Replicate a unit that works most of the time: `Parallelize`, the unit in each lane, `Reassemble`."""

    name: str = "lanes"
    summary: str = "several units side by side where one is busy most of the time"
    timed: bool = True

    def sites(self, subject: RewriteSubject) -> Iterator[RewriteSite]:
        """Yield two and four lanes for each unit that works for half of the cycles."""
        timed = subject.timed
        if timed is None or timed.cycles is None:
            return
        worked = {
            timed.program.units[unit]: time.worked for unit, time in enumerate(timed.timing.units)
            if timed.program.units[unit] >= 0
        }  # fmt: skip
        for node in subject.graph.nodes:
            if worked.get(node.index, 0) * _BUSY > timed.cycles and node.op_name in _WORKS and len(node.inputs) == 1:
                yield from self._of(subject, timed, node)

    def _of(self, subject: RewriteSubject, timed: Timed, node: TypedNode) -> Iterator[RewriteSite]:
        call = subject.call(node)
        if call is None or call.argument is None or len(subject.heads[node.op_span]) > 1:
            return
        given, made = (subject.graph.streams[index].type.shape for index in (node.inputs[0], node.outputs[0]))
        try:
            chunks = 0 if given[-1].is_open else given[-1].bind(timed.program.sizes)
        except DimError:
            return
        text, module = subject.text, subject.module
        head, argument = text[call.head.start : call.head.end], text[call.argument.start : call.argument.end]
        if "\n" in head or "\n" in argument:
            return
        names = FreshNames(text)
        lanes, dealt = names.one("lanes"), names.one("dealt")
        lane, outs = names.one("lane"), names.one("outs")
        for count in _COUNTS:
            if chunks < count:
                return
            line = f"{lanes}, {dealt} = {module}Parallelize(N={count}, depth={2 * count}).apply({argument})"
            each = f"{outs} = [{head}.apply({lane}) for {lane} in {lanes}]"
            first = lines_before(subject, call.whole, [line, each])
            if first is None:
                return
            joined = f"{module}Reassemble(onehot=True).apply(({outs}, {dealt}))"
            whole = f"{module}Flatten(L=[{len(made)}]).apply({joined})"
            what = f"{count} lanes for {node.written} (line {text.count(chr(10), 0, call.whole.start) + 1})"
            yield RewriteSite(self.name, what, (first, Edit(call.whole, whole)), (("N", str(count)),))
