"""FLOPs per cycle of units: `bw=`, within what all units of the chip have together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from stepcore.check.fifos import parameter_edit
from stepcore.check.rewriting import NoFix
from stepcore.cycles.timed import Timed
from stepcore.ops.base import BW
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span
from stepcore.text.wording import counted

STEP: Final = 64  # FLOPs per cycle: what units are made of


def compute_used(timed: Timed) -> int:
    """Return the FLOPs per cycle of all units of a program that compute."""
    return sum(timed.peak(node) for node, flops in timed.program.flops.items() if flops)


class Bandwidths(ExplainedRewrite):
    """Share the FLOPs per cycle of the chip among the units that have most to compute in a call."""

    name: str = "bandwidths"
    summary: str = "`bw=` of units, so that the compute of the whole chip is shared by work"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield one site that shares all compute, and one that doubles that of the unit which computes longest."""
        timed = subject.timed
        if timed is None or timed.cycles is None:
            return
        bound = {
            index: terms.flops for index, terms in timed.program.terms.items()
            if terms.flops > timed.peak(index) and terms.compute >= max(terms.given, terms.out)
        }  # fmt: skip
        if not bound:
            yield RewriteRefusal(self.name, "no unit computes longer than it reads and writes")
        shared: list[RewriteSite] = []
        with suppress(NoFix):
            shared += self._shared(subject, timed, bound)
        if bound and not shared:
            used = compute_used(timed)
            what = f"the units have {used:,} of {subject.compute:,} FLOPs a cycle, and none would get more"
            yield RewriteRefusal(self.name, what)
        yield from shared
        if len(bound) > 1:
            with suppress(NoFix):
                yield from self._doubled(
                    subject, timed, max(bound, key=lambda index: (timed.program.flops[index], -index))
                )

    def _shared(self, subject: RewriteSubject, timed: Timed, bound: Mapping[int, int]) -> Iterator[RewriteSite]:
        """Share by the work of a whole run: then all of these units compute equally long."""
        heads = _heads(subject, bound)
        work = {head: sum(timed.program.flops[index] for index in nodes) for head, nodes in heads.items()}
        others = compute_used(timed) - sum(timed.peak(index) for nodes in heads.values() for index in nodes)
        left, total = subject.compute - others, sum(work.values())
        if left <= 0 or not total:
            return
        wanted: dict[Span, int] = {}
        for head, nodes in heads.items():
            most = max(timed.program.terms[index].flops for index in nodes)  # a call takes a cycle then
            share = left * work[head] // total // len(nodes) // STEP * STEP
            wanted[head] = min(share, -(-most // STEP) * STEP)
        yield from self._site(subject, timed, wanted, "the chip's compute is shared by work")

    def _doubled(self, subject: RewriteSubject, timed: Timed, index: int) -> Iterator[RewriteSite]:
        head = timed.graph.nodes[index].op_span
        nodes = subject.heads[head]
        more = sum(timed.peak(node.index) for node in nodes)
        if compute_used(timed) + more <= subject.compute:
            yield from self._site(
                subject, timed, {head: 2 * timed.peak(index)}, "the busiest unit computes twice as fast"
            )

    def _site(
        self, subject: RewriteSubject, timed: Timed, wanted: Mapping[Span, int], what: str
    ) -> Iterator[RewriteSite]:
        faster = {
            head: bandwidth for head, bandwidth in sorted(wanted.items())
            if bandwidth > max(timed.peak(node.index) for node in subject.heads[head])
        }  # fmt: skip
        if not faster:
            return
        edits = tuple(parameter_edit(subject.text, head, BW.name, str(bandwidth)) for head, bandwidth in faster.items())
        shown = ", ".join(f"{bandwidth:,}" for bandwidth in dict.fromkeys(faster.values()))
        sentence = f"{what}: {shown} FLOPs a cycle of {counted(len(faster), 'operator')}"
        params = [(subject.text[head.start : head.end], str(bandwidth)) for head, bandwidth in faster.items()]
        yield RewriteSite(self.name, sentence, edits, (*params, (HOW, what)))


def _heads(subject: RewriteSubject, bound: Mapping[int, int]) -> dict[Span, list[int]]:
    """Return by place the nodes of operators whose parameter can be written, all of whose nodes are among these."""
    found: dict[Span, list[int]] = {}
    for head, nodes in subject.heads.items():
        indices = [node.index for node in nodes]
        if all(index in bound for index in indices) and subject.call(nodes[0]) is not None:
            found[head] = indices
    return found
