"""What timing finds in a program: a stop and its ring, a FIFO that costs cycles, memory that the chip lacks, costs that
nobody knows. What is said of a program before any run is :mod:`stepcore.check.waiting`.

A fix sets ``depth=`` of the operators that write into the FIFOs. It is offered only if the program with it has the same
meaning, and does in a run what is promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from stepcore.check.fifos import depth_edit
from stepcore.check.files import CheckResult, check_text, covered
from stepcore.check.rewriting import NoFix
from stepcore.check.suppression import unsuppressed
from stepcore.check.trials import same_meaning
from stepcore.costs.sizes import bytes_text
from stepcore.cycles.network_of import network_of
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import STEPS, Timed
from stepcore.findings.codes import about
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity, apply_edits
from stepcore.graph.typed import TypedNode
from stepcore.ops.base import MOST_COUNTED, Operand, TypingContext
from stepcore.text.span import Span
from stepcore.text.wording import counted
from stepcore.timing.deeper import saving
from stepcore.timing.exact import TooLong, Waiting, run

_STEPS: Final = 2_000_000  # of units, for what a deeper FIFO would save
_WORTH: Final = 100  # one cycle in so many is worth a hint


def findings(timed: Timed, result: CheckResult, steps: int = _STEPS) -> list[Diagnostic]:
    """Return what is wrong with a timed program, and what would make it better, in the order of the text.

    ``result`` is that of the file that it stands in. Comments there that ignore a finding are heeded. Trials of
    deeper FIFOs take at most ``steps`` steps of units; 0 leaves them out.
    """
    source = result.program_source
    said = result.diagnostics if source is result.source else result.impl_diagnostics
    warned = {each.span: each.fix for each in said if about(each.code).waits and each.fix is not None}
    finder = _Finder(timed, result, warned)
    found = [*finder.stop(), *finder.deeper(steps), *finder.memory(), *finder.costs(), *finder.sizes()]
    if "stepsmith:" in source.text and found:
        found = unsuppressed(source, found, covered(result))
    return sorted(found, key=lambda item: (item.span.start, item.code))


class _Finder:
    """What is found in one program; ``warned`` are the fixes of STEP501 in its file, by the streams that wait."""

    def __init__(self, timed: Timed, result: CheckResult, warned: Mapping[Span, Fix]) -> None:
        self.timed, self.source, self.warned = timed, result.program_source, warned
        self.task = None if self.source is result.source else result.source  # whose answer is a file of its own
        self.network = timed.program.network

    # A stop -------------------------------------------------------------------------------------------------------

    def stop(self) -> Iterator[Diagnostic]:
        """STEP502: it stopped, who waits for whom, and the depths that let it run."""
        timed = self.timed
        if timed.cycles is not None:
            return
        lines = [f"stopped at cycle {timed.timing.cycles:,}: {len(timed.ring)} units wait for each other"]
        lines += [f"  {self._waiting(item)}" for item in timed.ring]
        fix = None
        if timed.cure:
            lines.append(f"{self._depths(timed.cure)} {'cures' if len(timed.cure) == 1 else 'cure'} it")
            fix = self._for_all_sizes(timed.cure) or self._fix(timed.cure, 0)
        elif timed.cure is None:
            lines.append("which depth of a FIFO cures it would take too long to find; smaller sizes tell")
        else:
            lines.append("no depth of a FIFO cures it")
        nodes = [self._node(item.unit) for item in timed.ring]
        known = [(node, item) for node, item in zip(nodes, timed.ring, strict=True) if node is not None]
        related = tuple(Related(node.op_span, f"{self._held(item)} here") for node, item in known)
        deepened = [node for channel in timed.cure or () if (node := self.timed.writer(channel)) is not None]
        at = deepened[0] if deepened else known[0][0] if known else timed.graph.nodes[0]
        yield Diagnostic("STEP502", at.op_span, "\n".join(lines), related=related, fix=fix, program=timed.name)

    def _waiting(self, item: Waiting) -> str:
        taken = self.timed.timing.channels[item.channel].taken
        return f"{self._unit(item.unit)}: {self._held(item)}, {taken:,} taken"

    def _held(self, item: Waiting) -> str:
        held = f"full ({self.timed.timing.channels[item.channel].depth})" if item.reason == "full" else "empty"
        return f"{self.timed.called(item.channel)} is {held}"

    def _depths(self, depths: Mapping[int, int]) -> str:
        return " and ".join(
            f"depth {depth} of {self.timed.called(channel)}" for channel, depth in sorted(depths.items())
        )

    # What costs cycles --------------------------------------------------------------------------------------------

    def deeper(self, steps: int) -> Iterator[Diagnostic]:
        """STEP503: a deeper FIFO saves cycles."""
        timed = self.timed
        if timed.cycles is None or timed.engine != "exact" or not steps:
            return
        own = [channel for channel in timed.program.streams if self.timed.writer(channel) is not None]
        found = saving(self.network, timed.timing, own, limit=steps)
        if found is None or found.cycles * _WORTH < timed.cycles:
            return
        node, before = self.timed.writer(found.channel), self.network.channels[found.channel].depth
        assert node is not None, "only FIFOs of operators were tried"
        saved = f"saves {found.cycles:,} of {timed.cycles:,} cycles"
        text = f"{self.timed.called(found.channel)}: depth {found.depth} instead of {before} {saved}"
        fix = self._fix({found.channel: found.depth}, found.cycles)
        yield Diagnostic("STEP503", node.op_span, text, Severity.HINT, fix=fix, program=timed.name)

    # Memory and costs ---------------------------------------------------------------------------------------------

    def memory(self) -> Iterator[Diagnostic]:
        """STEP504: it needs more memory on chip than there is."""
        capacity = self.network.hardware.onchip.capacity
        if not capacity:
            return
        kept = self.timed.kept
        if kept.bytes <= capacity:
            return
        at = self.timed.graph.nodes[max(kept.nodes, key=lambda index: kept.nodes[index])]
        parts = [
            (kept.nodes[at.index], f"{at.written} (line {self._line(at)})"),
            (kept.ends, "loads and stores"),
            (kept.parameters, "parameters"),
        ]
        size, name = max(parts, key=lambda part: part[0])
        needs = [f"{kept.bytes:,} bytes", f"{capacity:,}"]
        if bytes_text(kept.bytes) != bytes_text(capacity):
            needs = [bytes_text(kept.bytes), bytes_text(capacity)]
        text = f"{self.timed.name} needs {needs[0]} on chip of {needs[1]}; most: {name}, {bytes_text(size)}"
        yield Diagnostic("STEP504", at.op_span, text, Severity.WARNING, program=self.timed.name)

    def costs(self) -> Iterator[Diagnostic]:
        """STEP505: a function applies an operation whose cost nobody knows."""
        for name, index in self.timed.program.doubtful.items():
            node = self.timed.graph.nodes[index]
            span = node.param_spans.get("fn", node.op_span)
            text = f"no cost is known for {name}; it counts as 1 for each element, or not at all"
            yield Diagnostic("STEP505", span, text, Severity.HINT, program=self.timed.name)

    def sizes(self) -> Iterator[Diagnostic]:
        """STEP507: a size that only the data know has no largest value."""
        timed = self.timed
        ctx = TypingContext(timed.spec.bindings())
        ctx.program, ctx.ports = timed.graph, timed.spec.inputs
        for node in timed.graph.nodes:
            fn = getattr(node.op, "fn", None)
            if fn is None or not fn.is_count:
                continue
            stream = timed.graph.streams[node.inputs[0]]
            if ctx.known_greatest(Operand(stream.type, stream.name, stream.index)) is None:
                size = timed.graph.streams[node.outputs[0]].type.shape[0]
                how = "this run only" if timed.program.routes == "run" else f"lists of {MOST_COUNTED:,} only"
                text = f"{size} has no max: depths hold for {how}; give a max to the input that is counted"
                yield Diagnostic("STEP507", node.op_span, text, Severity.HINT, program=timed.name)

    # Names --------------------------------------------------------------------------------------------------------

    def _node(self, unit: int) -> TypedNode | None:
        index = self.timed.program.units[unit]
        return None if index < 0 else self.timed.graph.nodes[index]

    def _unit(self, unit: int) -> str:
        node = self._node(unit)
        name = self.network.units[unit].name
        return name if node is None else f"{node.written} (line {self._line(node)})"

    def _line(self, node: TypedNode) -> int:
        return self.source.line_col(node.op_span.start)[0] + 1

    # Fixes --------------------------------------------------------------------------------------------------------

    def _for_all_sizes(self, depths: Mapping[int, int]) -> Fix | None:
        """Return what STEP501 offers for the same FIFOs, if the program runs with it: depths as its sizes have them."""
        streams, programs = self.timed.graph.streams, self.timed.program.streams
        spans = [streams[programs[channel]].span for channel in sorted(depths) if channel in programs]
        fixes = [fix for span in dict.fromkeys(spans) if (fix := self.warned.get(span)) is not None]
        edits = sorted({edit for fix in fixes for edit in fix.edits}, key=lambda edit: edit.span.start)
        if len(spans) < len(depths) or len(fixes) < len(set(spans)):
            return None
        if not self._holds(apply_edits(self.source.text, edits), 0):
            return None
        first, *others = (fix.title for fix in fixes)
        return Fix("; ".join([first, *(title[0].lower() + title[1:] for title in others)]), tuple(edits))

    def _fix(self, depths: Mapping[int, int], saved: int) -> Fix | None:
        """Return what sets the depths of channels, if the program runs with it and takes ``saved`` cycles less."""
        wanted: dict[Span, int] = {}
        for channel, depth in depths.items():
            node = self.timed.writer(channel)
            if node is None:
                return None
            wanted[node.op_span] = max(depth, wanted.get(node.op_span, 0))
        edits: list[Edit] = []
        with suppress(NoFix):
            edits += [depth_edit(self.source.text, span, str(depth)) for span, depth in sorted(wanted.items())]
            if self._holds(apply_edits(self.source.text, edits), saved):
                held = " and ".join(
                    f"the FIFO of {self.timed.called(channel)} holds {counted(depth, 'element')}"
                    for channel, depth in sorted(depths.items())
                )
                written = ", ".join(f"depth={depth}" for depth in dict.fromkeys(depths.values()))
                return Fix(f"Write {written}: {held}", tuple(edits))
        return None

    def _holds(self, text: str, saved: int) -> bool:
        """Return whether the program of ``text`` means the same, runs to its end, and takes so many cycles less."""
        timed = self.timed
        if self.task is None:
            result = check_text(text, self.source.path, with_fixes=False)
        else:
            impl = text, self.source.path
            result = check_text(self.task.text, self.task.path, impl=impl, with_fixes=False)
        again = [
            program for program in (result.programs if result.script is None else [result.script])
            if program.name == timed.name and program.runnable and same_meaning(timed.graph, program.typed)
        ]  # fmt: skip
        if len(again) != 1:
            return False
        try:
            program = timed.program
            made = network_of(timed.spec, again[0].typed, program.sizes, timed.hardware, program.routed)
            timing = run(made.network, limit=STEPS, fluid=timed.engine == "fluid")
        except (NotTimed, TooLong):
            return False
        return not timing.waiting and timing.cycles + saved <= (timed.cycles or timing.cycles)
