"""Tiles that a load reads again and again are kept on chip: loaded once, buffered, and read from there.

Side condition: the load repeats tiles by a stride of 0. What is buffered are the counters up to the outermost of those
that are meant, without those that repeat; `Streamify` gives them in the order of the load.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.printing.code_lines import factor
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, with_parameters, written_list
from stepcore.rewrites.statements import lines_before
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import Dim


class KeepOnChip(ExplainedRewrite):
    """Load tiles once that are used often, into a buffer on chip."""

    name: str = "keep-on-chip"
    summary: str = "tiles that are loaded again and again are loaded once, and read from a buffer"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each load that repeats tiles, once for each counter that repeats them."""
        for nodes in subject.heads.values():
            node = nodes[0]
            if not isinstance(node.op, LinearOffChipLoad):
                continue
            call = subject.call(node)
            if node.inputs:
                yield RewriteRefusal(self.name, "it loads once for each element of a stream", node.op_span)
            elif call is not None:
                yield from self._of(subject, node, node.op, call)

    def _of(
        self, subject: RewriteSubject, node: TypedNode, op: LinearOffChipLoad, call: WrittenCall
    ) -> Iterator[RewritePlace]:
        if op.shape is None or op.stride is None:
            yield RewriteRefusal(self.name, "it loads each tile of its tensor once", node.op_span)
            return
        sizes, strides = written_list(call, "shape"), written_list(call, "stride")
        shape, stride = [Dim.of(size) for size in op.shape], [Dim.of(step) for step in op.stride]
        if sizes is None or strides is None or not len(sizes) == len(strides) == len(shape) == len(stride):
            yield RewriteRefusal(self.name, "its shape and stride are not written out as lists", node.op_span)
            return
        again = [d for d, step in enumerate(stride) if step == Dim.of(0) and shape[d] != Dim.of(1)]
        if not again:
            yield RewriteRefusal(self.name, "none of its strides is 0, so it loads no tile again", node.op_span)
        for last in again:
            kept = [d for d in range(last + 1) if stride[d] != Dim.of(0) and shape[d] != Dim.of(1)]
            outer = list(range(last + 1, len(shape)))
            loads = [(sizes[d], strides[d]) for d in kept] or [("1", "0")]
            rest = [(sizes[d], strides[d]) for d in outer] or [("1", "0")]
            read, place = [], ""
            for d in range(last + 1):
                read.append((place or "1") if d in kept else "0")
                place = (f"{place} * {factor(sizes[d])}" if place else sizes[d]) if d in kept else place
            load = _listed([size for size, _ in (*loads, *rest)]), _listed([step for _, step in (*loads, *rest)])
            edits = self._edits(subject, call, load, len(loads), (sizes[: last + 1], read), bool(outer))
            if edits is None:
                yield RewriteRefusal(self.name, "no lines can be written before its statement", node.op_span)
                continue
            count = " * ".join(sizes[d] for d in kept) or "1"
            sentence = f"tiles of {op.memory.name} are kept on chip ({count} at a time), not loaded {sizes[last]} times"
            params = (("tensor", op.memory.name), ("counter", str(last)))
            yield RewriteSite(self.name, sentence, edits, params)

    def _edits(
        self,
        subject: RewriteSubject,
        call: WrittenCall,
        load: tuple[str, str],
        held: int,
        read: tuple[list[str], list[str]],
        has_outer: bool,
    ) -> tuple[Edit, ...] | None:
        """Return the lines before the statement, and what stands in place of the load; None where none may stand."""
        text, module = subject.text, subject.module
        names = FreshNames(text)
        loaded, kept = names.one("loaded"), names.one("kept")
        written = with_parameters(text, call, dict(zip(("shape", "stride"), load, strict=True)))
        if "\n" in written:
            return None
        lines = [f"{loaded} = {written}.apply()", f"{kept} = {module}Bufferize(a={held}).apply({loaded})"]
        first = lines_before(subject, call.whole, lines)
        sizes, strides = read
        whole = f"{module}Streamify(shape={_listed(sizes)}, stride={_listed(strides)}).apply({kept})"
        if not has_outer:
            whole = f"{module}Flatten(L=[{len(sizes)}]).apply({whole})"
        return None if first is None else (first, Edit(call.whole, whole))


def _listed(items: list[str]) -> str:
    return f"[{', '.join(items)}]"
