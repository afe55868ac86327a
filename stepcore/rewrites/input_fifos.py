"""FIFOs behind the inputs of a program: an Identity, which takes no cycles, with a depth of its own.

What the host sends waits in the chip's own FIFO, whose depth no program sets; a unit that needs a cycle for an element
empties a shallow one only every other time. Side condition: none, Identity gives what it gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.ops.base import DEPTH
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import applied_to
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.wording import counted

_DEPTH: Final = 4
_HOLDS: Final = ("Map", "Scan", "Accum")  # what keeps an element until it has worked on it


class InputFifos(ExplainedRewrite):
    """Put an Identity with a depth between an input and the unit that reads it."""

    name: str = "input-fifos"
    summary: str = "a FIFO with a depth of its own between an input and who works on it"
    timed: bool = True

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield one site for all inputs whose FIFO was full, and one for each of them."""
        timed = subject.timed
        if timed is None or timed.cycles is None:
            return
        full = {
            stream for channel, stream in timed.program.streams.items()
            if timed.timing.channels[channel].fill >= timed.program.network.channels[channel].depth
        }  # fmt: skip
        found: dict[str, tuple[Edit, Edit]] = {}
        head = f"{subject.module}Identity({DEPTH.name}={_DEPTH})"
        for stream in subject.graph.inputs:
            node = subject.consumers.get(stream)
            if node is None:
                continue
            if stream not in full:
                what = f"the FIFO of {subject.graph.streams[stream].name} is never full"
                yield RewriteRefusal(self.name, what, node.op_span)
                continue
            if node.op_name not in _HOLDS or not subject.is_alone(node):
                what = f"{node.written} takes elements of {subject.graph.streams[stream].name} as they come"
                yield RewriteRefusal(self.name, what, node.op_span)
                continue
            call = subject.call(node)
            if call is not None and len(call.items) == len(node.inputs):
                name = subject.graph.streams[stream].name
                place = call.items[node.inputs.index(stream)]
                if subject.text[place.start : place.end] == name:
                    found[name] = applied_to(place, head)
        groups = [tuple(found), *((name,) for name in found if len(found) > 1)] if found else []
        for names in groups:
            edits = tuple(edit for name in names for edit in found[name])
            shown = ", ".join(names) if len(names) <= 3 else counted(len(names), "input")
            params = (("inputs", ",".join(names)), (HOW, "all" if len(names) == len(found) else "one"))
            yield RewriteSite(self.name, f"a FIFO of {_DEPTH} behind {shown}", edits, params)
