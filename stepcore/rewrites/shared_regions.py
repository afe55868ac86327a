"""One unit works for several branches in turn: Maps of a function whose results are put together are one behind that.

Side condition: each branch that a Reassemble or an EagerMerge joins ends in a Map of the same function, and nothing
else does. A Map sees every element by itself, so it may follow what joins them: a Reassemble takes chunks in the order
of its selector; an EagerMerge takes what comes first, but whatever comes first, its selector says whose that is, so the
program has the same results for each order. What each Map read waits in a FIFO as deep as the one behind it was, so no
branch holds less than before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, applied_to
from stepcore.rewrites.statements import bound_lines, is_movable, names_bound, read_of
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span
from stepcore.text.wording import counted

_DEALT: Final = "Parallelize"
_EAGER: Final = "EagerMerge"
_KNOWN: Final = ("fn", "bw", "depth")  # what of a Map is written again


class ShareRegion(ExplainedRewrite):
    """Move the Maps at the end of routed branches behind what joins these, as one."""

    name: str = "share-region"
    summary: str = "one unit for several branches in turn, instead of one for each"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Reassemble and EagerMerge, with what the Maps at its branches' ends compute together."""
        if subject.timed is None:
            return
        for node in subject.alone("Reassemble", _EAGER):
            makers = [subject.producer(stream) for stream in _branches(node)]
            units = [maker for maker in makers if maker is not None and maker.op_name == "Map"]
            if units and len(makers) > 1:
                yield self._of(subject, node, units)
            elif len(makers) > 1:
                ends = " or ".join(sorted({"an input" if maker is None else maker.written for maker in makers}))
                yield RewriteRefusal(self.name, f"its branches end in {ends}, not in a Map", node.op_span)

    def _of(self, subject: RewriteSubject, joined: TypedNode, units: list[TypedNode]) -> RewritePlace:
        whole, calls = subject.call(joined), [subject.call(unit) for unit in units]
        written = [call for call in calls if call is not None]
        fault = _fault(subject, joined, units)
        if fault is None and (whole is None or len(written) < len(calls)):
            fault = f"the {joined.op_name} and the Maps are not all written as step.Name(...).apply(...)"
        place = None if whole is None else _joined_place(subject, joined, whole)
        if fault is None and place is None:
            fault = "the data and the selector of the EagerMerge are not bound to two names, each of them read once"
        edits = None if fault else _given(subject, units, written)
        if place is None or edits is None:
            return RewriteRefusal(self.name, fault or _UNWRITTEN, joined.op_span)
        bandwidth = _bandwidth(subject, units)
        head = f"{subject.module}Map(fn={_fn(subject, written[0])}{bandwidth})"
        wrapped = applied_to(place, head)
        name = getattr(getattr(units[0].op, "fn", None), "func_name", "a function")
        sentence = f"one unit applies {name} for {counted(len(units), 'branch', 'branches')} in turn"
        return RewriteSite(self.name, sentence, (*edits, *wrapped), (("branches", str(len(units))),))


def _branches(joined: TypedNode) -> tuple[int, ...]:
    """Return the streams that an operator joins, without its selector."""
    return joined.inputs if joined.op_name == _EAGER else joined.inputs[:-1]


def _joined_place(subject: RewriteSubject, joined: TypedNode, whole: WrittenCall) -> Span | None:
    """Return where what has been joined stands: the Reassemble itself, the name that is read of an EagerMerge."""
    if joined.op_name != _EAGER:
        return whole.whole
    lines = bound_lines(subject, whole.whole)
    if lines is None or len(lines.names) != len(joined.outputs) or not is_movable(subject, ", ".join(lines.names)):
        return None
    return read_of(subject, lines.names[0])


_UNWRITTEN: Final = "what more than two streams are zipped from is not written out"


def _fault(subject: RewriteSubject, joined: TypedNode, units: Sequence[TypedNode]) -> str | None:
    """Return why the Maps of these branches cannot be one; None where they can."""
    if len(units) < len(_branches(joined)):
        return "not every branch ends in a Map"
    first = units[0]
    if any(_params(unit) != _params(first) for unit in units):
        return "the branches apply different functions"
    if joined.op_name != _EAGER and joined.op.by_arrival():
        return "the Reassemble takes what comes first, so the time that a branch takes changes its result"
    selector = None if joined.op_name == _EAGER else _origin(subject, joined.inputs[-1])
    if selector is not None and selector.op_name == _DEALT:
        return "the branches are lanes that Parallelize deals out: fewer of them are a matter of lane-counts"
    places = {unit.index for unit in units}
    if any(node.index not in places for unit in units for node in subject.heads[unit.op_span]):
        return "the text of the Maps gives further ones, whose results go elsewhere"
    call = subject.call(first)
    bound = names_bound(subject)
    for name, value in () if call is None else call.syntax.items():
        if name not in _KNOWN:
            return f"nobody knows what {name} of the Map means behind the {joined.op_name}"
        if name == "fn" and bound & {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}:
            return "which function a branch applies is chosen by a name that is bound inside of the program"
    return None


def _params(unit: TypedNode) -> tuple[object, ...]:
    """Return the function of a Map as its use has it, and what it computes per cycle."""
    fn = getattr(unit.op, "fn", None)
    return (
        getattr(fn, "func_name", fn),
        getattr(fn, "input", None),
        getattr(fn, "output", None),
        getattr(unit.op, "bw", None),
    )


def _origin(subject: RewriteSubject, stream: int) -> TypedNode | None:
    """Return the node that makes a stream, through those that only pass it on."""
    node = subject.producer(stream)
    while node is not None and node.op.passes:
        node = subject.producer(node.inputs[0])
    return node


def _given(subject: RewriteSubject, units: Sequence[TypedNode], calls: Sequence[WrittenCall]) -> list[Edit] | None:
    """Return the edits by which branches give what their Maps read; None where that cannot be written."""
    edits: dict[Span, list[Edit]] = {}
    for unit, call in zip(units, calls, strict=True):
        depth = call.keywords.get("depth")
        given = "" if depth is None else f"depth={subject.text[depth.start : depth.end]}"
        operator = "Identity" if len(unit.inputs) == 1 else "Zip"
        own = [Edit(call.head, f"{subject.module}{operator}({given})")]
        if len(unit.inputs) > 2:
            if len(call.items) != len(unit.inputs):
                return None
            opening = f"{subject.module}Zip().apply((" * (len(unit.inputs) - 2)
            first = call.items[0].start
            own += [Edit(Span(first, first), opening)]
            own += [Edit(Span(item.end, item.end), "))") for item in call.items[1:-1]]
        edits[call.head] = own
    return [edit for own in edits.values() for edit in own]


def _bandwidth(subject: RewriteSubject, units: Sequence[TypedNode]) -> str:
    """Return the parameter by which one unit computes as much per cycle as all of these did; nothing without FLOPs."""
    timed = subject.timed
    if timed is None or not any(timed.program.flops.get(unit.index) for unit in units):
        return ""
    return f", bw={sum(timed.peak(unit.index) for unit in units)}"


def _fn(subject: RewriteSubject, call: WrittenCall) -> str:
    place = call.keywords["fn"]
    return subject.text[place.start : place.end]
