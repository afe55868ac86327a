"""A STeP program while it is being planned: streams over loops, operators, and what the host has to lay out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepagents.lower.affine import Affine, Axis, NotAffine, ProgramTooLarge
from stepagents.lower.functions import Function
from stepagents.lower.values import Source
from stepcore.ops import GENERATION_1
from stepcore.ops.pace import Late
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Scalar, STuple

MOST_STEPS: Final = 1000


@dataclass(frozen=True, slots=True)
class ElementPart:
    """One component of a stream's element: a dtype and the loops inside the element, innermost first."""

    dtype: str
    tile: tuple[Axis, ...] = ()

    @property
    def element(self) -> Scalar | Buffer:
        """The type of the component."""
        scalar = Scalar(self.dtype)
        return Buffer(scalar, [axis.size for axis in self.tile]) if self.tile else scalar


@dataclass(frozen=True, eq=False, slots=True)
class Flow:
    """A stream: its loops innermost first, the components of its element, and how late it is."""

    axes: tuple[Axis, ...]
    parts: tuple[ElementPart, ...]
    late: Late
    number: int
    name: str

    @property
    def element(self) -> Element:
        """The element type."""
        return element_of(self.parts)


def element_of(parts: Sequence[ElementPart]) -> Element:
    """Return the type of elements with these components."""
    return parts[0].element if len(parts) == 1 else STuple(part.element for part in parts)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One operator; parameters are as printed, ``function`` is the one that it applies.

    ``origins`` are the graph nodes that it computes, or that its streams are for.
    """

    operator: str
    params: tuple[tuple[str, str], ...]
    inputs: tuple[Flow, ...]
    output: Flow
    function: Function | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRead:
    """One input stream: which elements of ``source`` it holds, in the order of ``axes`` (innermost first).

    Element ``index`` of the source, where its zero-stuffed form (``step``) has it, else ``fill``.
    """

    flow: Flow
    source: Source
    index: tuple[Affine, ...]
    step: tuple[int, ...]
    fill: str

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All loops of the stream, those inside its elements first."""
        return (*self.flow.parts[0].tile, *self.flow.axes)


@dataclass(slots=True)
class PlannedProgram:
    """Steps in order, with the inputs that they need and the results."""

    reads: list[HostRead] = field(default_factory=list)
    steps: list[PlannedStep] = field(default_factory=list)
    results: list[Flow] = field(default_factory=list)
    origin: str = ""
    _count: int = 0
    _unrepeated: dict[int, Flow] = field(default_factory=dict)  # what a repeated stream was made from

    def flow(self, axes: Sequence[Axis], parts: Sequence[ElementPart], late: Late, name: str) -> Flow:
        """Make a stream that may be shared from here on."""
        self._count += 1
        return Flow(tuple(axes), tuple(parts), {**late, self._count: 0}, self._count, name)

    def result(
        self,
        operator: str,
        inputs: Sequence[Flow],
        axes: Sequence[Axis],
        parts: Sequence[ElementPart],
        name: str,
        inserted: int | None = None,
    ) -> Flow:
        """Make the stream that an operator gives: as late as its inputs make it; ``inserted`` is where Promote adds."""
        late = _late(operator, [(flow.late, len(flow.axes)) for flow in inputs], len(axes), inserted)
        return self.flow(axes, parts, late, name)

    def read(
        self, source: Source, index: tuple[Affine, ...], axes: Sequence[Axis], tile: Sequence[Axis],
        step: tuple[int, ...], fill: str,
    ) -> Flow:  # fmt: skip
        """Add an input."""
        flow = self.flow(axes, [ElementPart(source.dtype, tuple(tile))], {}, source.name)
        self.reads.append(HostRead(flow, source, index, step, fill))
        return flow

    def step(
        self,
        operator: str,
        inputs: Sequence[Flow],
        output: Flow,
        function: Function | None = None,
        origins: Iterable[str] = (),
        **params: object,
    ) -> Flow:
        """Add an operator and return its output; without ``origins`` it is for the node that is in work.

        Raises:
            ProgramTooLarge: the program has as many operators as it may.
        """
        if len(self.steps) >= MOST_STEPS:
            raise ProgramTooLarge(f"the program would have more than {MOST_STEPS} operators")
        texts = tuple((name, str(value)) for name, value in params.items())
        self.steps.append(
            PlannedStep(operator, texts, tuple(inputs), output, function, tuple(origins) or (self.origin,))
        )
        return output

    def apply(
        self,
        function: Function,
        flows: Sequence[Flow],
        parts: Sequence[ElementPart],
        name: str,
        origins: Iterable[str] = (),
    ) -> Flow:
        """Map ``function`` over streams in step."""
        flows = self.joined(flows)
        output = self.result("Map", flows, flows[0].axes, parts, name)
        return self.step("Map", flows, output, function, origins)

    def fold(
        self,
        function: Function,
        flow: Flow,
        dims: int,
        parts: Sequence[ElementPart],
        name: str,
        origins: Iterable[str] = (),
    ) -> Flow:
        """Fold the innermost ``dims`` loops."""
        output = self.result("Accum", [flow], flow.axes[dims:], parts, name)
        return self.step("Accum", [flow], output, function, origins, b=dims)

    def scan(
        self, function: Function, flow: Flow, parts: Sequence[ElementPart], name: str, origins: Iterable[str] = ()
    ) -> Flow:
        """Scan the innermost loop."""
        alone = len(flow.axes) == 1
        if alone:
            flow = self._promoted(flow)
        flow = self.step("Scan", [flow], self.result("Scan", [flow], flow.axes, parts, name), function, origins, b=1)
        return self.without_unit(flow) if alone else flow

    def prune(self) -> None:
        """Take out operators whose results nobody reads, such as repetitions that came too early."""
        read = {flow.number for flow in self.results}
        kept: list[PlannedStep] = []
        for step in reversed(self.steps):
            if step.output.number in read:
                kept.append(step)
                read.update(flow.number for flow in step.inputs)
        self.steps = kept[::-1]

    def repeated(self, flow: Flow, axis: Axis) -> Flow:
        """Repeat every element along a new innermost loop."""
        output = self.result("Repeat", [flow], (axis, *flow.axes), flow.parts, flow.name)
        self._unrepeated[output.number] = flow
        return self.step("Repeat", [flow], output, n=axis.size)

    def inserted(self, flow: Flow, inner: int, axis: Axis) -> Flow:
        """Add a loop of one round outside the innermost ``inner`` loops."""
        axes = (*flow.axes[:inner], axis, *flow.axes[inner:])
        output = self.result("Promote", [flow], axes, flow.parts, flow.name, inner)
        return self.step("Promote", [flow], output, b=inner)

    def buffered(self, flow: Flow, dims: int, part: ElementPart) -> Flow:
        """Keep the innermost ``dims`` loops in elements of the form ``part``."""
        output = self.result("Bufferize", [flow], flow.axes[dims:], [part], flow.name)
        return self.step("Bufferize", [flow], output, a=dims)

    def stashed(self, flow: Flow, dims: int, axes: Sequence[Axis]) -> Flow:
        """Keep the innermost ``dims`` loops in a buffer and read it once per round of ``axes`` (outermost first)."""
        part = self._single(flow)
        unit = dims == len(flow.axes)
        if unit:
            flow = self._promoted(flow)
        inner = flow.axes[:dims]
        flow = self.buffered(flow, dims, ElementPart(part.dtype, (*part.tile, *inner)))
        for axis in axes:
            flow = self.repeated(flow, axis)
        tile = len(part.tile)
        axes = (*part.tile, *inner, *flow.axes)
        flow = self.step(
            "Streamify", [flow], self.result("Streamify", [flow], axes, [ElementPart(part.dtype)], flow.name)
        )
        if tile:
            flow = self.buffered(flow, tile, part)
        return self.without_unit(flow) if unit else flow

    def joined(self, flows: Sequence[Flow]) -> list[Flow]:
        """Return streams that can be read in step: what comes too early for the others waits in a buffer."""
        result: list[Flow] = []
        lates = [other.late for other in flows]
        for flow in flows:
            dims = wait(flow.late, lates)
            result.append(self._delayed(flow, dims, lates) if dims else flow)
        return result

    def _delayed(self, flow: Flow, dims: int, lates: Sequence[Late]) -> Flow:
        """Let the innermost ``dims`` loops of ``flow`` wait; what is repeated waits unrepeated, once."""
        base = flow
        while base.number in self._unrepeated:
            base = self._unrepeated[base.number]
        rounds = len(flow.axes) - len(base.axes)
        kept = max(0, dims - rounds)
        held = _late("Bufferize", [(base.late, len(base.axes))], len(base.axes) - kept)
        if rounds == 0 or wait(_late("Repeat", [(held, len(base.axes) - kept)], len(flow.axes)), lates):
            return self.stashed(flow, dims, ())
        base = Flow(flow.axes[rounds:], flow.parts, base.late, base.number, base.name)
        base = self.stashed(base, kept, ()) if kept else base
        for axis in reversed(flow.axes[:rounds]):
            base = self.repeated(base, axis)
        return base

    def zipped(self, flows: Sequence[Flow]) -> Flow:
        """Join two or more streams."""
        flows = self.joined(flows)
        result = flows[0]
        for flow in flows[1:]:
            parts = (*result.parts, *flow.parts)
            output = self.result("Zip", [result, flow], result.axes, parts, result.name)
            result = self.step("Zip", [result, flow], output)
        return result

    def _promoted(self, flow: Flow) -> Flow:
        output = self.result("Promote", [flow], (*flow.axes, unit_axis()), flow.parts, flow.name, len(flow.axes))
        return self.step("Promote", [flow], output, b=len(flow.axes))

    def expanded(self, flow: Flow, axes: Sequence[Axis]) -> Flow:
        """Repeat ``flow`` along the loops that it lacks."""
        if flow.axes == tuple(axes):
            return flow
        present = set(flow.axes)
        position = len(axes) - 1
        while position >= 0:
            if axes[position] in present:
                position -= 1
                continue
            group: list[Axis] = []
            while position >= 0 and axes[position] not in present:
                group.append(axes[position])
                position -= 1
            inner = sum(axis in present for axis in axes[: position + 1])
            if inner and all(axis.size == 1 for axis in group):
                for axis in group:  # one round: nothing has to be read again
                    flow = self.inserted(flow, inner, axis)
            elif inner:
                flow = self.stashed(flow, inner, group)
            else:
                for axis in group:
                    flow = self.repeated(flow, axis)
        return self.without_unit(flow) if len(flow.axes) > len(axes) else flow

    def without_unit(self, flow: Flow) -> Flow:
        """Merge the placeholder, which is the outermost loop, into the loop inside it."""
        last = len(flow.axes) - 1
        output = self.result("Flatten", [flow], flow.axes[:last], flow.parts, flow.name)
        return self.step("Flatten", [flow], output, L=[last])

    @staticmethod
    def _single(flow: Flow) -> ElementPart:
        if len(flow.parts) > 1:
            raise NotAffine("a tuple of values would have to wait in a buffer")
        return flow.parts[0]


def _late(operator: str, inputs: Sequence[tuple[Late, int]], dims: int, inserted: int | None = None) -> Late:
    pace = GENERATION_1.by_name[operator].pace
    assert pace is not None, "plans hold no operator whose pace follows the data"
    return pace.late(inputs, dims, inserted)


def wait(late: Late, others: Sequence[Late]) -> int:
    """Return how many dimensions of a stream have to wait for the others that it is read in step with."""
    behind = (other[root] for other in others for root, dimensions in late.items() if other.get(root, 0) > dimensions)
    return max(behind, default=0)


def unit_axis() -> Axis:
    """Return a placeholder loop of one round."""
    return Axis("unit", Dim.of(1), "unit")
