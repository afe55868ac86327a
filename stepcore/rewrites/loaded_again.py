"""Tiles that a buffer gives again and again are loaded each time: the way back from tiles that are kept on chip.

Side condition: the buffer holds tiles of a load in its order, nothing else reads it, and the places that are read are
again a sum of counters times strides: each counter runs along one dimension of the buffer, or not at all. The memory
is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.ops.streamify import Streamify
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, with_parameters, written_list
from stepcore.rewrites.statements import assigned_line, times_read
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import Dim, product
from stepcore.text.span import Span


class LoadAgain(ExplainedRewrite):
    """Read tiles from memory as often as they are used, in place of a buffer on chip."""

    name: str = "load-again"
    summary: str = "tiles that are kept on chip are loaded as often as they are used"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Streamify of a buffer of tiles that a load fills."""
        for kept, node in subject.pairs("Bufferize", "Streamify"):
            load = subject.producer(kept.inputs[0])
            if load is None or load.inputs or not isinstance(load.op, LinearOffChipLoad):
                yield RewriteRefusal(self.name, "what the buffer holds is not loaded as it is", node.op_span)
            elif any(each.written for each in subject.checked.spec.parameters):
                yield RewriteRefusal(
                    self.name, "the program stores: memory may hold something else by then", node.op_span
                )
            elif isinstance(node.op, Streamify) and subject.is_alone(load):
                site = self._of(subject, node.op, load.op, [node, kept, load])
                yield RewriteRefusal(self.name, site, node.op_span) if isinstance(site, str) else site

    def _of(
        self, subject: RewriteSubject, read: Streamify, load: LinearOffChipLoad, nodes: Sequence[TypedNode]
    ) -> RewriteSite | str:
        calls = [subject.call(node) for node in nodes]
        streamify, bufferize, source = calls
        if streamify is None or bufferize is None or source is None or load.shape is None or load.stride is None:
            return "the load's shape and stride, or one of the operators, are not written out"
        shape, stride = written_list(source, "shape"), written_list(source, "stride")
        held = int(getattr(nodes[1].op, "a", 0))
        if shape is None or stride is None:
            return "the load's shape and stride are not written out as lists"
        again = _again(streamify, read, ([Dim.of(size) for size in load.shape[:held]], shape[:held], stride[:held]))
        gone = _gone(subject, [streamify, bufferize, source])
        if again is None:
            return "it reads the buffer in an order in which no load reads its tensor"
        if gone is None:
            return "the load or the buffer stand in lines that do more, or have names that are read elsewhere"
        sizes, strides = again
        counters = {"shape": [*sizes, *shape[held:]], "stride": [*strides, *stride[held:]]}
        head = with_parameters(
            subject.text, source, {name: f"[{', '.join(items)}]" for name, items in counters.items()}
        )
        if "\n" in head:
            return "the load is written over several lines"
        name = load.memory.name
        sentence = f"tiles of {name} are loaded as often as they are used, not kept on chip"
        return RewriteSite(self.name, sentence, (*gone, Edit(streamify.whole, f"{head}.apply()")), (("tensor", name),))


def _again(
    call: WrittenCall, read: Streamify, held: tuple[list[Dim], list[str], list[str]]
) -> tuple[list[str], list[str]] | None:
    """Return sizes and strides, in tiles of the memory, of a read of the buffer ``held``; None where there are none."""
    dims, sizes, strides = held
    if read.shape is None or read.stride is None:
        return (sizes, strides) if read.shape is None else None
    written, steps = written_list(call, "shape"), written_list(call, "stride")
    if written is None or steps is None:
        return None
    found: list[str] = []
    for size, step in zip(map(Dim.of, read.shape), map(Dim.of, read.stride), strict=True):
        along = [at for at in range(len(dims)) if step == product(dims[:at]) and size == dims[at]]
        if not along and step != Dim.of(0):
            return None
        found.append(strides[along[0]] if along and step != Dim.of(0) else "0")
    return written, found


def _gone(subject: RewriteSubject, calls: Sequence[WrittenCall]) -> list[Edit] | None:
    """Return the edits that drop the lines of what is no longer needed: each stands in the next one, or is named."""
    edits: list[Edit] = []
    for outer, inner in pairwise(calls):
        argument = outer.argument
        if argument is None:
            return None
        if argument.start <= inner.whole.start and inner.whole.end <= argument.end:
            continue
        line = assigned_line(subject, inner.whole)
        shown = subject.text[argument.start : argument.end]
        if line is None or line[0] != shown or times_read(subject, shown) != 1:
            return None
        edits.append(Edit(line[1], ""))
    inside = [Span(call.whole.start, call.whole.end) for call in calls[:1]]
    return None if any(span.start <= edit.span.start < span.end for edit in edits for span in inside) else edits
