"""Folds in parts: parts of a long one side by side, and two, one behind the other, as one.

Side condition: the function joins its state by a sum, a product, or the greatest or least value with what it makes of
an element, from an init that changes nothing, so parts may be folded apart (sums may round otherwise). A list that is
cut comes from loads that nothing else reads, and has a fixed size that the number of parts divides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.cycles.timed import Timed
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.base import FnLike
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.printing.code_lines import factor
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, is_assigned, with_parameters, written_list
from stepcore.rewrites.functions import NewFunction, declared, written_function
from stepcore.rewrites.joined_folds import JoinedFold, joined_fold
from stepcore.rewrites.statements import assigned_line, lines_before, times_read
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import DimError
from stepcore.text.span import Span

_PARTS: Final = (2, 4)
_WIDEST: Final = 100  # characters of a line
_BUSY: Final = 2  # one cycle in so many has to be work of the unit, or of a load that feeds it


class SplitFold(ExplainedRewrite):
    """Fold parts of what an Accum loads side by side, each with loads of its own, and join the results."""

    name: str = "split-fold"
    summary: str = "parts of a long fold side by side, each with loads of its own"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield two and four parts of each fold of loads that takes half of the cycles."""
        timed = subject.timed
        if timed is None or timed.cycles is None:
            return
        units = zip(timed.program.units, timed.timing.units, strict=True)
        busy = {node for node, time in units if node >= 0 and (time.worked + time.memory) * _BUSY > timed.cycles}
        for node in subject.graph.nodes:
            loads = [subject.producer(stream) for stream in node.inputs]
            call = subject.call(node) if node.op_name == "Accum" else None
            found = [each for each in loads if each is not None and not each.inputs]
            if call is None:
                continue
            if len(found) < len(loads) or len(call.items) < len(found):
                what = "it folds what is no load, so its parts cannot be loaded side by side"
            elif not busy & {node.index, *(each.index for each in found)}:
                what = "neither it nor a load that it reads works for half of the cycles"
            elif not subject.is_alone(node):
                what = "its text gives several units"
            else:
                yield from self._of(subject, timed, node, call, found)
                continue
            yield RewriteRefusal(self.name, what, node.op_span)

    def _of(
        self, subject: RewriteSubject, timed: Timed, node: TypedNode, call: WrittenCall, loads: list[TypedNode]
    ) -> Iterator[RewritePlace]:
        kind = joined_fold(_fn(node))
        placed = [_part(subject, load, item) for load, item in zip(loads, call.items, strict=True)]
        sources = [each for each in placed if each is not None]
        size = subject.graph.streams[node.inputs[0]].type.shape[0]
        if kind is None:
            what = f"{_name(node)} does not just join its state by a sum, a product or a greatest or least value"
            yield RewriteRefusal(self.name, what, node.op_span)
            return
        if len(sources) < len(loads):
            what = "the loads are not written out on lines of their own, or are read elsewhere, too"
            yield RewriteRefusal(self.name, what, node.op_span)
            return
        try:
            length = 0 if size.is_open else size.bind(timed.program.sizes)
        except DimError:
            length = 0
        counts = [count for count in _PARTS if length % count == 0 and length > count]
        if not counts:
            what = f"no number of parts divides its innermost size, {size}"
            yield RewriteRefusal(self.name, what, node.op_span)
        for count in counts:
            names = FreshNames(subject.text)
            joined = _joining(subject, node, call, kind, count, names)
            if joined is None:
                return
            fn, declaration = joined
            parts, part = names.one("parts"), names.one("part")
            lists = [names.one(source.name) for source in sources]
            each = [names.one("each") for _ in sources]
            head = subject.text[call.head.start : call.head.end]
            lines = [
                line
                for name, source in zip(lists, sources, strict=True)
                for line in _listed(name, source.part(subject.text, count, part), f"for {part} in range({count})")
            ]
            given = f"({', '.join(each)})" if len(each) > 1 else each[0]
            over = f"zip({', '.join(lists)}, strict=True)" if len(each) > 1 else lists[0]
            lines.append(f"{parts} = [{head}.apply({given}) for {', '.join(each)} in {over}]")
            first = lines_before(subject, call.whole, lines)
            if first is None or "\n" in head:
                return
            several = ", ".join(f"{parts}[{number}]" for number in range(count))
            whole = f"{subject.module}Map(fn={fn}).apply(({several}))"
            gone = [Edit(source.line, "") for source in sources if source.line is not None]
            sentence = f"{_name(node)} folds {count} parts side by side"
            yield RewriteSite(
                self.name, sentence, (declaration, *gone, first, Edit(call.whole, whole)), (("count", str(count)),)
            )


class _FoldedLoad(Record):
    """A load that a fold reads, called ``name`` there, and the line that goes where it has one of its own."""

    name: str
    call: WrittenCall
    shape: tuple[str, ...]
    stride: tuple[str, ...]
    line: Span | None

    def part(self, text: str, count: int, number: str) -> str:
        """Return, out of ``text``, the load of one of ``count`` parts, whose number stands in the name ``number``."""
        first = f"{factor(self.shape[0])} // {count}"
        step = "" if self.stride[0] == "1" else f" * {factor(self.stride[0])}"
        given = self.call.keywords.get("base")
        before = "" if given is None else f"{text[given.start : given.end]} + "
        values = {"shape": f"[{', '.join((first, *self.shape[1:]))}]", "base": f"{before}{number} * ({first}){step}"}
        return f"{with_parameters(text, self.call, values)}.apply()"


def _listed(name: str, item: str, rounds: str) -> list[str]:
    """Return the lines that bind a list of so many items."""
    line = f"{name} = [{item} {rounds}]"
    return [line] if len(line) <= _WIDEST else [f"{name} = [", f"    {item}", f"    {rounds}", "]"]


def _part(subject: RewriteSubject, load: TypedNode, item: Span) -> _FoldedLoad | None:
    """Return a load that is written at ``item`` or bound to the name there; None where it cannot be cut in parts."""
    call = subject.call(load)
    if not isinstance(load.op, LinearOffChipLoad) or call is None or not subject.is_alone(load):
        return None
    shape, stride = written_list(call, "shape"), written_list(call, "stride")
    if not shape or not stride or "\n" in subject.text[call.head.start : call.head.end]:
        return None
    name, line = "loads", None
    if item != call.whole:
        name = subject.text[item.start : item.end]
        found = assigned_line(subject, call.whole)
        if found is None or found[0] != name or times_read(subject, name) != 1:
            return None
        line = found[1]
    return _FoldedLoad(name, call, tuple(shape), tuple(stride), line)


class JoinFolds(ExplainedRewrite):
    """Make one Accum of two, the second of which folds the results of the first."""

    name: str = "join-folds"
    summary: str = "two folds, one behind the other, become one"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Accum that folds what an Accum alone of the same kind makes."""
        for first, second in subject.pairs("Accum", "Accum"):
            yield from self._of(subject, first, second)

    def _of(self, subject: RewriteSubject, first: TypedNode, second: TypedNode) -> Iterator[RewritePlace]:
        one, other = subject.call(first), subject.call(second)
        inner, outer = joined_fold(_fn(first)), joined_fold(_fn(second))
        if one is None or other is None or other.argument is None:
            return
        if inner is None or outer is None:
            what = f"{_name(first if inner is None else second)} does not just join its state by one operation"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        inits = [getattr(_fn(node), "init", None) for node in (first, second)]
        if inner.operator != outer.operator or not outer.is_plain or inits[0] != inits[1]:
            what = f"{_name(first)} and {_name(second)} do not join by the same operation from the same init"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        if "b" not in one.keywords or not {*other.keywords} <= {"fn", "b"}:
            what = "the first fold does not write its b, or the second one has parameters beside fn and b"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        if is_assigned(subject.text, other.whole, other.argument):
            what = "one name would stand for another: write it into the operator that reads it"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        edits = (
            Edit(one.keywords["b"], str(_folded(first) + _folded(second))),
            Edit(Span(other.whole.start, other.argument.start), ""),
            Edit(Span(other.argument.end, other.whole.end), ""),
        )
        yield RewriteSite(self.name, f"{_name(first)} folds what {_name(second)} folded of it, too", edits)


def _fn(node: TypedNode) -> FnLike | None:
    return getattr(node.op, "fn", None)


def _name(node: TypedNode) -> str:
    return getattr(_fn(node), "func_name", "a function")


def _folded(node: TypedNode) -> int:
    return int(getattr(node.op, "b", 1))


def _joining(
    subject: RewriteSubject,
    node: TypedNode,
    call: WrittenCall,
    way: JoinedFold,
    count: int,
    names: FreshNames,
) -> tuple[str, Edit] | None:
    """Return the name of the function that joins results, and what declares it; None where none can be written."""
    given = call.keywords.get("fn")
    function = None if given is None else written_function(subject, subject.text[given.start : given.end])
    if function is None:
        return None
    name, kind = names.one(f"join_{_name(node)}"), function.output
    made = NewFunction(name, ("input",), (kind,) * count, kind, (f"return [{way.joined(count)}]",))
    edit = declared(subject, [made])
    return None if edit is None else (name, edit)
