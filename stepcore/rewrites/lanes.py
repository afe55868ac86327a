"""Several units side by side for what one does: chunks are dealt out in turn, and put together in order.

Side condition: the unit works on every outermost chunk by itself: Map, Scan, and Accum, which never folds the outermost
dimension. What it reads has a fixed outermost size, several streams are zipped before, and its text gives one unit.
Where the outermost dimension holds too few chunks, fixed dimensions that are not folded are made one before, and cut
again behind the lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.cycles.timed import Timed
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall
from stepcore.rewrites.statements import lines_before, size_text
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import DimError
from stepcore.text.wording import counted
from stepcore.types import Shape

_WORKS: Final = ("Map", "Scan", "Accum")
_COUNTS: Final = (2, 4)
_BUSY: Final = 2  # one cycle in so many has to be work of the unit


class Lanes(ExplainedRewrite):
    """Replicate units that work most of the time: `Parallelize`, the unit in each lane, `Reassemble`."""

    name: str = "lanes"
    summary: str = "several units side by side where one is busy most of the time"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield two and four lanes for each unit that works for half of the cycles, and for all of these at once."""
        timed = subject.timed
        if timed is None or timed.cycles is None:
            return
        worked = {
            timed.program.units[unit]: time.worked for unit, time in enumerate(timed.timing.units)
            if timed.program.units[unit] >= 0
        }  # fmt: skip
        busy = [
            (node, call) for node in subject.graph.nodes
            if worked.get(node.index, 0) * _BUSY > timed.cycles and node.op_name in _WORKS
            and subject.is_alone(node) and (call := subject.call(node)) is not None
        ]  # fmt: skip
        for node in subject.alone(*_WORKS):
            if worked.get(node.index, 0) * _BUSY <= timed.cycles:
                what = f"it works for {worked.get(node.index, 0):,} of {timed.cycles:,} cycles, less than half of them"
                yield RewriteRefusal(self.name, what, node.op_span)
        apart = [item for item in busy if not any(_holds(other, item[1]) for _, other in busy)]
        for count in _COUNTS:
            for item in busy:
                found: list[RewritePlace] = list(self._of(subject, timed, [item], count))
                what = f"no fixed outer dimensions that it does not fold hold {count} chunks, or it takes several lines"
                yield from found or [RewriteRefusal(self.name, what, item[0].op_span)]
            if len(apart) > 1:
                yield from self._of(subject, timed, apart, count)

    def _of(
        self, subject: RewriteSubject, timed: Timed, units: list[tuple[TypedNode, WrittenCall]], count: int
    ) -> Iterator[RewriteSite]:
        names = FreshNames(subject.text)
        edits: list[Edit] = []
        for node, call in units:
            made = _edits(subject, timed.program.sizes, node, call, count, names)
            if made is None:
                return
            edits += made
        lines = sorted({subject.text.count("\n", 0, call.whole.start) + 1 for _, call in units})
        kinds = ", ".join(dict.fromkeys(node.written for node, _ in units))
        places = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"
        what = f"{count} lanes for {kinds} ({places})"
        params = (("N", str(count)), *(((HOW, f"all {counted(len(units), 'unit')}"),) if len(units) > 1 else ()))
        yield RewriteSite(self.name, what, tuple(edits), params)


def _holds(outer: WrittenCall, inner: WrittenCall) -> bool:
    """Whether one application is written inside of another one."""
    return outer is not inner and outer.whole.start <= inner.whole.start and inner.whole.end <= outer.whole.end


def _edits(
    subject: RewriteSubject, sizes: Mapping[str, int], node: TypedNode, call: WrittenCall, count: int, names: FreshNames
) -> list[Edit] | None:
    """Return the lines that deal out what a unit reads, and what stands in its place; None where that cannot be."""
    given, made = (subject.graph.streams[index].type.shape for index in (node.inputs[0], node.outputs[0]))
    low = _dealt(given, len(given) - len(made), count, sizes)
    if call.argument is None or low is None:
        return None
    text, module, rank = subject.text, subject.module, len(given) - 1
    head, argument = text[call.head.start : call.head.end], text[call.argument.start : call.argument.end]
    if "\n" in head or "\n" in argument:
        return None
    if len(node.inputs) > 1:
        argument = f"{module}Zip().apply({argument})"
    if low < rank:
        argument = f"{module}Flatten(L={list(range(low + 1, rank + 1))}).apply({argument})"
    lanes, dealt, lane, outs = (names.one(base) for base in ("lanes", "dealt", "lane", "outs"))
    line = f"{lanes}, {dealt} = {module}Parallelize(N={count}, depth={2 * count}).apply({argument})"
    each = f"{outs} = [{head}.apply({lane}) for {lane} in {lanes}]"
    first = lines_before(subject, call.whole, [line, each])
    if first is None:
        return None
    last = low + len(made) - len(given)  # the dimension of the result that was dealt out
    whole = f"{module}Reassemble(onehot=True).apply(({outs}, {dealt}))"
    whole = f"{module}Flatten(L=[{last + 1}]).apply({whole})"
    for number, size in enumerate(given[low:rank]):
        whole = f"{module}Reshape(S={size_text(subject, size)}, L=[{last + number}]).apply({whole})"
    return [first, Edit(call.whole, whole)]


def _dealt(given: Shape, folded: int, count: int, sizes: Mapping[str, int]) -> int | None:
    """Return the innermost of the dimensions that together hold enough chunks, as few of them as do; None for none."""
    chunks = 1
    for low in range(len(given) - 1, folded - 1, -1):
        try:
            chunks *= 0 if given[low].is_open else given[low].bind(sizes)
        except DimError:
            return None
        if chunks >= count or not chunks:
            return low if chunks else None
    return None
