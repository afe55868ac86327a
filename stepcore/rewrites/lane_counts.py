"""Other numbers of lanes: twice as many, or lanes merged to half as many, wherever a program deals chunks out.

Side condition: what a lane does, it does for each outermost chunk by itself, so it does not matter which others share
its lane; selectors of the lanes only send companions the same way and put the results back. Text that reads a lane by
its number no longer checks, and is not offered.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from stepcore.check.fifos import parameter_edit
from stepcore.check.rewriting import NoFix
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.base import BW, Operator
from stepcore.rewrites.bandwidths import STEP, compute_used
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.rewrites.written_sizes import named_numbers
from stepcore.text.span import Span
from stepcore.text.wording import counted

_MOST: Final = 64
_PASSED: Final = ("Copy", "Identity")  # through which a selector stays what it is
_WHOLE: Final = (
    "Map", "Accum", "Scan", "Zip", "Repeat", "RepeatRef", "Streamify", "Bufferize", "Retile", "LinearOffChipLoad",
    "RandomOffChipLoad", *_PASSED,
)  # fmt: skip
# Those that may change the outermost dimension: whether they leave it alone, by the rank of what they read first.
_INNER: Final[Mapping[str, Callable[[Operator, int], bool]]] = {
    "Promote": lambda op, rank: getattr(op, "b", rank + 1) <= rank,
    "Expand": lambda op, rank: getattr(op, "b", rank + 1) <= rank,
    "Flatten": lambda op, rank: max(getattr(op, "L", (rank,)), default=0) < rank,
    "Reshape": lambda op, rank: max(getattr(op, "L", (rank,)), default=rank) < rank,
    "FlatMap": lambda _op, rank: rank > 0,
    "RetileStreamify": lambda _op, rank: rank > 0,
}


class LaneCounts(ExplainedRewrite):
    """Double or halve the lanes of a Parallelize, and of all that goes the same way."""

    name: str = "lane-counts"
    summary: str = "twice as many lanes, or two merged to one"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield twice and half the lanes of each Parallelize whose lanes work chunk by chunk."""
        for head, nodes in subject.heads.items():
            if nodes[0].op_name != "Parallelize":
                continue
            if _writes(subject):
                yield RewriteRefusal(self.name, "the program stores: lanes may read what others wrote", head)
                continue
            groups = [_lanes_of(subject, node) for node in nodes]
            found = [group for group in groups if group is not None]
            if len(found) == len(groups):
                heads = {head, *(subject.graph.nodes[index].op_span for group in found for index in group[0])}
                inside = {index for group in found for index in group[1]}
                yield from self._of(subject, nodes[0], heads, inside)
            else:
                what = "chunks meet in a lane, something else reads its selector, or its results are not joined by it"
                yield RewriteRefusal(self.name, what, head)

    def _of(
        self, subject: RewriteSubject, node: TypedNode, heads: set[Span], inside: set[int]
    ) -> Iterator[RewritePlace]:
        count = getattr(node.op, "N", 0)
        if type(count) is not int:
            yield RewriteRefusal(self.name, "how many lanes there are follows from a size", node.op_span)
            return
        line = subject.text.count("\n", 0, node.op_span.start) + 1
        for other in (2 * count, count // 2):
            edits = _counts(subject, heads, other) if 0 < other <= _MOST else None
            with_compute = _given_back(subject, inside, count, other)
            if edits is None or with_compute is None:
                what = (
                    f"{counted(other, 'lane')}: not from 1 to {_MOST}, or N is no number that is written or bound once"
                )
                if edits is not None:
                    what = f"{counted(other, 'lane')} would need more than {subject.compute:,} FLOPs a cycle"
                yield RewriteRefusal(self.name, what, node.op_span)
                continue
            what = f"{counted(other, 'lane')}, not {count} (line {line})"
            if with_compute:
                units = counted(len(with_compute), "operator")
                what += f", and bw= of {units} no higher than what they read and write lets them use"
            yield RewriteSite(self.name, what, (*edits, *with_compute), (("N", str(other)),))


def _writes(subject: RewriteSubject) -> bool:
    """Whether the program writes to memory: what other lanes have stored may then be read."""
    return any(parameter.written for parameter in subject.checked.spec.parameters)


def _lanes_of(subject: RewriteSubject, dealt: TypedNode) -> tuple[set[int], set[int]] | None:
    """Return the nodes that send companions into the lanes of ``dealt``, and all that work in these.

    None where something does not work chunk by chunk, or reads a selector for itself.
    """
    *first, selector = dealt.outputs
    partitions: set[int] = set()
    joins: set[int] = set()
    selectors, lanes = [selector], list(first)
    while selectors:
        stream = selectors.pop()
        node = subject.consumers.get(stream)
        if node is None:
            if stream in subject.graph.returns:
                return None
        elif node.op_name in _PASSED:
            selectors += node.outputs
        elif (
            node.inputs[-1] != stream
            or node.op_name not in ("Partition", "Reassemble", "Merge")
            or node.op.by_arrival()
        ):
            return None
        elif node.op_name == "Partition":
            partitions.add(node.index)
            lanes += node.outputs
        else:
            joins.add(node.index)
    return _inside(subject, lanes, partitions, joins)


def _inside(
    subject: RewriteSubject, lanes: list[int], partitions: set[int], joins: set[int]
) -> tuple[set[int], set[int]] | None:
    inside: set[int] = set()
    seen = set(lanes)
    while lanes:
        node = subject.consumers.get(lanes.pop())
        if node is None:
            return None
        if node.index in joins or node.index in inside:
            continue
        rank = subject.graph.streams[node.inputs[0]].type.rank
        is_inner = _INNER.get(node.op_name)
        if node.op_name not in _WHOLE and (is_inner is None or not is_inner(node.op, rank)):
            return None
        inside.add(node.index)
        lanes += node.outputs
        seen.update(node.outputs)
    read = {stream for index in inside for stream in subject.graph.nodes[index].inputs}
    return (partitions, inside) if read <= seen and joins else None


def _counts(subject: RewriteSubject, heads: set[Span], count: int) -> list[Edit] | None:
    """Return the edits that write another number of lanes, where the file names it at that place."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return None
    named = {name: span for name, _value, span in named_numbers(tree, code)}
    places: set[Span] = set()
    for head in heads:
        call = subject.call(subject.heads[head][0])
        value = None if call is None else call.syntax.get("N")
        if call is None or value is None:
            return None
        if isinstance(value, ast.Name) and value.id in named:
            places.add(named[value.id])
        elif isinstance(value, ast.Constant):
            places.add(call.keywords["N"])
        else:
            return None
    return [Edit(place, str(count)) for place in sorted(places)]


def _given_back(subject: RewriteSubject, inside: set[int], count: int, other: int) -> list[Edit] | None:
    """Return the edits of `bw=` by which more lanes fit into the compute of the chip; None where they do not.

    A unit whose calls take as long for what they read or write keeps what these cycles need.
    """
    timed = subject.timed
    if timed is None:
        return None
    before = {index: timed.peak(index) for index in inside if timed.program.flops.get(index)}
    used = compute_used(timed)
    if other <= count or used + sum(before.values()) * (other - count) // count <= subject.compute:
        return []
    wanted: dict[Span, int] = {}
    for index, peak in before.items():
        terms = timed.program.terms.get(index)
        if terms is None:
            return None
        needed = -(-terms.flops // max(terms.given, terms.out, 1))
        head = subject.graph.nodes[index].op_span
        wanted[head] = max(wanted.get(head, 0), min(peak, -(-needed // STEP) * STEP))
    after = sum(wanted[subject.graph.nodes[index].op_span] for index in before)
    if used - sum(before.values()) + after * other // count > subject.compute:
        return None
    try:
        return [parameter_edit(subject.text, head, BW.name, str(each)) for head, each in sorted(wanted.items()) if each]
    except NoFix:
        return None
