"""A planned program as a specification and the text of ``impl``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stepagents.lower.affine import Affine, Axis, BoundSizes
from stepagents.lower.functions import Function, fresh_name, heading
from stepagents.lower.program import Flow, HostRead, PlannedProgram, PlannedStep
from stepagents.lower.sharing import shared
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.graph.ir import OutputPort, Port, ProgramSpec
from stepcore.graph.layouts import InputLayout, OutputLayout, ReadPlace
from stepcore.ops import GENERATION_1
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import StreamType


class Emitted(Record):
    """A program as text with everything that it needs; ``spec`` holds the layouts of all inputs and outputs."""

    spec: ProgramSpec
    impl: str

    @property
    def inputs(self) -> tuple[InputLayout, ...]:
        """What each input reads."""
        return tuple(port.layout for port in self.spec.inputs if port.layout is not None)

    @property
    def outputs(self) -> tuple[OutputLayout, ...]:
        """How each result is put together."""
        return tuple(port.layout for port in self.spec.outputs or () if port.layout is not None)


class HostResult(Record):
    """A result of the function: its name, and the loops that make up each of its dimensions, outermost first.

    ``sizes`` are its own where its loops are longer, else None.
    """

    name: str
    dims: tuple[tuple[Axis, ...], ...]
    sizes: tuple[Dim, ...] | None = None


def emit(
    program: PlannedProgram,
    results: Sequence[HostResult],
    name: str,
    bindings: Mapping[str, int],
    draws: Mapping[str, str],
    below: Mapping[str, int],
    lines: Mapping[str, int],
) -> Emitted:
    """Write ``program`` down.

    ``draws`` says how test data for each source are drawn, ``below`` bounds whole numbers, ``lines`` on which line of
    the user's file each node of the graph is: a comment says it above the operators that came from there.
    """
    writer = _Writer(program, bindings, lines)
    impl = writer.impl()
    sizes = BoundSizes(bindings)
    names = [writer.inputs[read.flow.number] for read in program.reads]
    ports = tuple(
        replace(_port(read, stream, draws, below), layout=_layout(read, sizes))
        for read, stream in zip(program.reads, names, strict=True)
    )
    outputs = tuple(
        OutputPort(f"S{number}", _type(flow), layout=_output_layout(flow, result))
        for number, (flow, result) in enumerate(zip(program.results, results, strict=True))
    )
    return Emitted(specification(name, ports, writer.fns, outputs, bindings, impl), impl)


def taken_names(bindings: Mapping[str, int]) -> set[str]:
    """Return the names that a program finds already."""
    return {*PREDECLARED_SYMBOLS, *bindings, "step", "torch", "ctx"}


def specification(
    name: str,
    inputs: Sequence[Port],
    fns: Sequence[FnDecl],
    outputs: Sequence[OutputPort],
    bindings: Mapping[str, int],
    impl: str = "",
) -> ProgramSpec:
    """Return what a program gets, may use and returns; the sizes of ``bindings`` that anything names are its own."""
    used = _symbols([*(port.type for port in inputs), *(port.type for port in outputs)], impl, fns)
    used |= {symbol for port in inputs if port.layout is not None for symbol in port.layout.symbols()}
    symbols = tuple(dict.fromkeys((*PREDECLARED_SYMBOLS, *bindings)))
    return ProgramSpec(
        name=name,
        inputs=tuple(inputs),
        fns=tuple(fns),
        outputs=tuple(outputs),
        scope=FnScope(None, (), tuple(port.name for port in inputs), symbols),
        defaults=tuple((symbol, size) for symbol, size in bindings.items() if symbol in used),
    )


class _Writer:
    def __init__(self, program: PlannedProgram, bindings: Mapping[str, int], lines: Mapping[str, int]) -> None:
        self.program = program
        self._source_lines = lines
        self._lines_now: list[int] = []
        self.fns: list[FnDecl] = []
        self._known: dict[Function, str] = {}
        self._shared = shared(step.function for step in program.steps if step.function is not None)
        self._taken = taken_names(bindings)
        self.inputs = {read.flow.number: fresh_name(read.flow.name, self._taken) for read in program.reads}
        uses = Counter(flow.number for step in program.steps for flow in step.inputs)
        uses.update(flow.number for flow in program.results)
        self._uses = uses
        self._names: dict[int, list[str]] = defaultdict(list)
        self._lines: list[str] = []

    def impl(self) -> str:
        """Return the text of the program; the functions that it uses are in ``fns`` then."""
        for number, name in self.inputs.items():
            self._define(number, name, ())
        for step in self.program.steps:
            self._step(step)
        results = ", ".join(self._take(flow) for flow in self.program.results)
        self._line(f"return {results}", ())
        return "\n".join(self._lines)

    def _line(self, text: str, origins: Sequence[str]) -> None:
        """Add a line, below those of the user's file that it came from: the first ones and the last."""
        lines = sorted({self._source_lines[origin] for origin in origins if origin in self._source_lines})
        if lines and lines != self._lines_now:
            shown = lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], lines[-1]]
            self._lines += [f"# line {line}" for line in shown]
            self._lines_now = lines
        self._lines.append(text)

    def _define(self, number: int, name: str, origins: Sequence[str]) -> None:
        """Make ``name`` available as often as the stream is used."""
        names = [name]
        while len(names) < self._uses[number]:
            last = names.pop()
            first, second = fresh_name(name, self._taken), fresh_name(name, self._taken)
            self._line(f"{first}, {second} = step.Copy().apply({last})", origins)
            names += [first, second]
        self._names[number] = names

    def _take(self, flow: Flow) -> str:
        return self._names[flow.number].pop(0)

    def _step(self, step: PlannedStep) -> None:
        arguments = [self._take(flow) for flow in step.inputs]
        params = {} if step.function is None else {"fn": self._function(step.function)}
        params |= {name: str(value) for name, value in step.params}
        name = fresh_name(_kept(step.output.name, step.operator), self._taken)
        calling = GENERATION_1.by_name[step.operator].calling
        self._line(calling.line(f"step.{step.operator}", params, arguments, [name]), step.origins)
        self._define(step.output.number, name, step.origins)

    def _function(self, given: Function) -> str:
        function = self._shared[given]
        name = self._known.get(function)
        if name is None:
            name = self._known[function] = fresh_name(f"fn_{function.label}", self._taken)
            label = heading(function.label)
            arguments = ("input",) if function.init is None else ("state", "input")
            init = None if function.init is None else tuple(float(value) for value in function.init)
            body = CodeBlock(Embedded.whole(function.body), arguments)
            self.fns.append(FnDecl(name, label, function.input, function.output, body, init))
        return name


_MOST_LINES: Final = 4
_SUFFIXES = {
    "Bufferize": "kept", "Repeat": "repeated", "Streamify": "again", "Promote": "wrapped", "Flatten": "flat",
    "Zip": "pairs",
}  # fmt: skip


def _kept(name: str, operator: str) -> str:
    suffix = _SUFFIXES.get(operator, "")
    for known in _SUFFIXES.values():
        name = name.removesuffix(f"_{known}")
    return f"{name}_{suffix}" if suffix else name


def _type(flow: Flow) -> StreamType:
    return StreamType(flow.element, tuple(axis.size for axis in flow.axes))


def _port(read: HostRead, stream: str, draws: Mapping[str, str], below: Mapping[str, int]) -> Port:
    source, type_ = read.source, _type(read.flow)
    if source.kind != "input":
        return Port(stream, type_, "torch.ones" if source.kind == "ones" and source.dtype != "bool" else None)
    return source_port(stream, type_, source.dtype, draws.get(source.name, "torch.randn"), below.get(source.name))


def source_port(name: str, type_: StreamType, dtype: str, data_gen: str, below: int | None) -> Port:
    """Return the stream of a tensor of the function: ``data_gen`` draws its numbers, ``below`` bounds whole ones."""
    how = data_gen if dtype in ("fp32", "fp16", "bf16") else None
    return Port(name, type_, how, maximum=None if below is None else below - 1)


def _layout(read: HostRead, sizes: BoundSizes) -> InputLayout:
    source, loops = read.source, tuple(reversed(read.axes))
    numbers = {axis: number for number, axis in enumerate(loops)}
    steps = read.step or (1,) * len(read.index)
    ends = tuple(
        _ends(index, size, step, sizes) for index, size, step in zip(read.index, source.shape, steps, strict=True)
    )
    places = tuple(
        ReadPlace(index.const + before, tuple((numbers[axis], factor) for axis, factor in index.terms))
        for index, (before, _) in zip(read.index, ends, strict=True)
    )
    name = source.name if source.kind == "input" else source.kind
    found = InputLayout(name, tuple(source.shape), steps, ends, _number(read.fill), places)
    is_whole = source.kind == "input" and reads_whole(found, [axis.size for axis in loops])
    return replace(found, places=None) if is_whole else found


def reads_whole(layout: InputLayout, loops: Sequence[Dim]) -> bool:
    """Return whether the stream, of the sizes ``loops`` (outermost first), is the tensor as it stands."""
    own = layout.places == tuple(ReadPlace(Dim.of(0), ((axis, Dim.of(1)),)) for axis in range(len(layout.sizes)))
    plain = all(step == 1 for step in layout.steps) and all(end == 0 for ends in layout.padding for end in ends)
    return own and plain and layout.sizes == tuple(loops)


def _ends(index: Affine, size: Dim, step: int, sizes: BoundSizes) -> tuple[Dim, Dim]:
    """Return how much padding a dimension needs before and after."""
    low, high = sizes.span(index)
    return sizes.excess(-low), sizes.excess(high - (size - 1) * step)


def _number(text: str) -> float:
    return float({"True": "1", "False": "0"}.get(text, text.replace("torch.", "").replace("math.", "")))


def _output_layout(flow: Flow, result: HostResult) -> OutputLayout:
    loops = tuple(reversed((*flow.parts[0].tile, *flow.axes)))
    wanted = [axis for dim in result.dims for axis in dim]
    rest = [axis for axis in loops if axis not in wanted]  # placeholders of one round
    order = tuple(loops.index(axis) for axis in (*rest, *wanted))
    groups = tuple(len(dim) for dim in result.dims)
    return OutputLayout(order, groups, result.sizes)


def _symbols(types: Sequence[StreamType], impl: str, fns: Sequence[FnDecl]) -> set[str]:
    import re

    found = {symbol for stream in types for size in stream.shape for symbol in size.symbols()}
    text = "\n".join([impl, *(fn.body.source.text for fn in fns), *(f"{fn.input} {fn.output}" for fn in fns)])
    return found | {word.removesuffix("_value") for word in re.findall(r"\w+", text)}
