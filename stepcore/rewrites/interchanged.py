"""Two loops of a unit that reads loads are interchanged: what one of them repeats comes from fewer tiles then.

Side condition: a Map, or an Accum, of loads alone, whose counters are written out; a fold over both loops joins its
elements in any order. Otherwise the results are put back in order on chip: they are buffered, and read along the
other loop first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.printing.code_lines import factor
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, around, with_parameters, written_list
from stepcore.rewrites.joined_folds import joined_fold
from stepcore.rewrites.statements import lines_before
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import Dim

_ZERO = Dim.of(0)
_ONE = Dim.of(1)
_NOTHING: Final = (
    "there are no two loops of which the outer one alone repeats tiles, and a fold over them would have to join its "
    "elements in any order"
)


class _Loop(Record):
    """The counters of a load, innermost first: their sizes and strides, and how they are written."""

    call: WrittenCall
    sizes: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    shape: tuple[str, ...]
    stride: tuple[str, ...]

    def head(self, text: str, at: int, *, longer: bool) -> str:
        """Return the load with the counters ``at`` and ``at + 1`` interchanged, ``longer`` by one that counts once."""
        given = {}
        for name, items, more in (("shape", self.shape, "1"), ("stride", self.stride, "0")):
            order = [*items[:at], items[at + 1], items[at], *items[at + 2 :], *([more] if longer else [])]
            given[name] = f"[{', '.join(order)}]"
        return with_parameters(text, self.call, given)


class Interchange(ExplainedRewrite):
    """Swap two loops, one inside of the other, around a Map or an Accum."""

    name: str = "interchange"
    summary: str = "two loops, one inside of the other, are interchanged"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each pair of loops of each Map and Accum of loads, where that lets a load repeat or read on."""
        for node in subject.alone("Map", "Accum"):
            call = subject.call(node)
            loops = [_loop(subject, stream) for stream in node.inputs]
            known = [loop for loop in loops if loop is not None]
            if not known or call is None:
                continue
            if len(known) < len(loops):
                yield RewriteRefusal(
                    self.name, "it reads more than loads whose shape and stride are written out", node.op_span
                )
            elif len({len(loop.sizes) for loop in known}) == 1:
                found: list[RewritePlace] = list(self._of(subject, node, call, known))
                yield from found or [RewriteRefusal(self.name, _NOTHING, node.op_span)]

    def _of(
        self, subject: RewriteSubject, node: TypedNode, call: WrittenCall, loops: Sequence[_Loop]
    ) -> Iterator[RewriteSite]:
        folded = int(getattr(node.op, "b", 0)) if node.op_name == "Accum" else 0
        reader = subject.consumers.get(node.outputs[0])
        is_buffered = reader is not None and reader.op_name == "Bufferize"  # an interchange again would bring this back
        for at in range(len(loops[0].sizes) - 1):
            if _ONE in loops[0].sizes[at : at + 2] or not any(_gains(loop, at, folded) for loop in loops):
                continue
            inside = at + 1 < folded
            if inside and joined_fold(getattr(node.op, "fn", None)) is None:
                continue
            if not inside and (at < folded or is_buffered):
                continue
            shape = loops[0].shape
            longer = not inside and at + 2 == len(shape)
            edits = [Edit(loop.call.head, loop.head(subject.text, at, longer=longer)) for loop in loops]
            if not inside:
                edits += _in_order(subject, call, loops, (folded, at))
            sentence = f"the loop of {shape[at + 1]} runs inside of that of {shape[at]}, not around it"
            yield RewriteSite(self.name, sentence, tuple(edits), (("counter", str(at)),))


def _loop(subject: RewriteSubject, stream: int) -> _Loop | None:
    """Return the counters of the load that gives a stream; None where it is none, or does not write them out."""
    node = subject.producer(stream)
    if node is None or node.inputs or not isinstance(node.op, LinearOffChipLoad) or not subject.is_alone(node):
        return None
    call, op = subject.call(node), node.op
    if call is None or op.shape is None or op.stride is None:
        return None
    shape, stride = written_list(call, "shape"), written_list(call, "stride")
    if shape is None or stride is None or not len(shape) == len(stride) == len(op.shape) == len(op.stride):
        return None
    return _Loop(call, tuple(map(Dim.of, op.shape)), tuple(map(Dim.of, op.stride)), tuple(shape), tuple(stride))


def _gains(loop: _Loop, at: int, folded: int) -> bool:
    """Whether a load repeats a smaller block with the loops interchanged, or reads tiles that follow each other."""
    inner, outer = loop.strides[at : at + 2]
    return (outer == _ZERO != inner) if at >= folded else (outer == _ONE != inner)


def _in_order(subject: RewriteSubject, call: WrittenCall, loops: Sequence[_Loop], place: tuple[int, int]) -> list[Edit]:
    """Return the edits that buffer what a unit makes, and read it in the order in which its loops were.

    ``place`` are the number of loops that it folds, and that of the inner one of the two that were interchanged.
    """
    folded, at = place[0], place[1] - place[0]
    shape, module = loops[0].shape[folded:], subject.module
    inner = [factor(size) for size in shape[:at]]
    strides = [" * ".join(inner[:each]) or "1" for each in range(at)]
    strides += [" * ".join([*inner, factor(shape[at + 1])]) if inner else shape[at + 1], " * ".join(inner) or "1"]
    head = f"{module}Bufferize(a={at + 2}).apply("
    read = f"{module}Streamify(shape=[{', '.join(shape[: at + 2])}], stride=[{', '.join(strides)}]).apply("
    end = ")"
    if at + 2 == len(shape):
        read, end = f"{module}Flatten(L=[{at + 2}]).apply({read}", "))"
    made = subject.text[call.whole.start : call.whole.end]
    if "\n" not in made and not any(call.whole.start <= loop.call.head.start < call.whole.end for loop in loops):
        kept = FreshNames(subject.text).one("kept")
        line = lines_before(subject, call.whole, [f"{kept} = {head}{made})"])
        if line is not None:
            return [line, Edit(call.whole, f"{read}{kept}{end}")]
    return [*around(call.whole, read + head, end + ")")]
