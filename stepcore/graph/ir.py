"""The program graph and the specification that it has to meet; both frontends deliver these, with spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.graph.layouts import InputLayout, LayoutError, OutputLayout
from stepcore.ops.base import Operator
from stepcore.ops.pace import LoopPart
from stepcore.sizes.dim import DEFAULT_SIZES, OPEN
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Scalar, StreamType

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize
    from stepcore.ops.memory import OffChipTensor

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Port:
    """A named input stream or parameter: its type and how test data for it are drawn.

    A parameter's ``type`` holds its sizes as the shape, innermost first, and a scalar element.
    ``minimum``/``maximum`` bound how many ones a selector has, or whole numbers that are drawn. ``layout`` says which
    elements of which PyTorch tensor the stream holds; where there is none the stream is a tensor of its own.
    A parameter that is ``written`` may be the target of stores.
    """

    name: str
    type: StreamType
    data_gen: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    layout: InputLayout | None = field(default=None, kw_only=True)
    written: bool = field(default=False, kw_only=True)
    span: Span = field(default=NOWHERE, compare=False)
    type_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class OutputPort:
    """A declared output with one reference block per tuple component (none in Python files).

    ``layout`` says how the host puts the result together. Where ``memory`` names a parameter, the output is what the
    program leaves in it, and no stream; ``type`` is then the parameter's.
    """

    name: str
    type: StreamType
    transforms: tuple[CodeBlock, ...] = ()
    layout: OutputLayout | None = field(default=None, kw_only=True)
    memory: str = field(default="", kw_only=True)
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """What a program gets, may use and must return.

    ``fixed`` are sizes that the file itself binds (``global`` of a task: they cannot be overridden); ``defaults``
    sizes that a run may override. ``reference`` names the PyTorch function of a Python file (module attribute).
    ``outputs`` is None where nothing is declared. ``drawn`` says how large dynamic and ragged sizes of inputs get.
    """

    name: str
    inputs: tuple[Port, ...] = ()
    parameters: tuple[Port, ...] = ()
    fns: tuple[FnDecl, ...] = ()
    outputs: tuple[OutputPort, ...] | None = None
    scope: FnScope = field(default_factory=FnScope)
    drawn: tuple[DrawnSize, ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()
    defaults: tuple[tuple[str, int], ...] = ()
    reference: str | None = None
    span: Span = field(default=NOWHERE, compare=False)

    def bindings(self, overrides: dict[str, int] | None = None) -> dict[str, int]:
        """Return the value of every bound symbol: defaults, then ``overrides``, then what the file fixes.

        The published sizes (M, N, K, D) are bound whether the file mentions them or not: an answer may.
        """
        return {**DEFAULT_SIZES, **dict(self.defaults), **(overrides or {}), **dict(self.fixed)}

    def most(self, bindings: Mapping[str, int]) -> dict[str, int]:
        """Return ``bindings`` with the largest value of each dynamic or ragged size: the bounds of all sizes."""
        return {**bindings, **{each.name: each.maximum for each in self.drawn}}

    @property
    def returned(self) -> tuple[OutputPort, ...] | None:
        """The outputs that are streams, which a program returns; the others are what it leaves in memory."""
        outputs = self.outputs
        return outputs and tuple(port for port in outputs if not port.memory)

    def off_chip(self) -> dict[str, OffChipTensor]:
        """Return the parameters as values of programs."""
        from stepcore.ops.memory import OffChipTensor  # most programs have none

        return {
            port.name: OffChipTensor(port.name, port.type.element, port.type.shape, port.written)
            for port in self.parameters
            if isinstance(port.type.element, Scalar)
        }

    def symbols(self) -> set[str]:
        """Return the symbols in the shapes of inputs, parameters and outputs, as far as they are static."""
        types = [port.type for port in (*self.inputs, *self.parameters)]
        types += [output.type for output in self.outputs or ()]
        return {name for stream in types for size in stream.shape for name in size.symbols() if name[0] not in OPEN}

    def says_the_same(self, other: ProgramSpec) -> bool:
        """Whether ``other``, wherever it stands in its file, has equal values and texts (comments in them count)."""
        return _alike(self, other)


def reference_ports(spec: ProgramSpec) -> tuple[Port, ...]:
    """Return the tensors that a reference gets, in the order in which the inputs name them first.

    An input without a layout is a tensor of its own; the type of another one holds its sizes, innermost first.

    Raises:
        LayoutError: see :func:`whole_port`.
    """
    found: dict[str, Port] = {}
    for port in spec.inputs:
        if port.layout is None:
            found.setdefault(port.name, port)
        elif not port.layout.is_generated:
            found.setdefault(port.layout.source, whole_port(port, port.layout))
    return tuple(found.values())


def whole_port(port: Port, layout: InputLayout) -> Port:
    """Return the port of the whole tensor that ``port`` reads by ``layout``.

    Raises:
        LayoutError: the elements of ``port`` are tuples or selectors.
    """
    element = port.type.element
    scalar = element.element if isinstance(element, Buffer) else element
    if not isinstance(scalar, Scalar):
        raise LayoutError(f"{port.name} has a layout, which only streams of scalars and their buffers have")
    whole = StreamType(scalar, tuple(reversed(layout.sizes)))
    return Port(layout.source, whole, port.data_gen, port.minimum, port.maximum)


def _alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, Embedded):  # two of them are equal only at the same place
        return bool(one.text == other.text)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if is_dataclass(one):
        return all(_alike(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)
    return bool(one == other)


@dataclass(slots=True)
class GraphStream:
    """One stream of a graph. ``producer`` is a node index, or None for an input."""

    index: int
    name: str
    span: Span
    producer: int | None = None
    slot: int = 0
    type: StreamType | None = None  # None: unknown, because of an earlier finding


@dataclass(slots=True)
class Node:
    """One application of an operator. ``op`` is None when it could not be built (a finding says why).

    ``op_name`` is the name of the operator's class, or what stands in its place where there is no such operator;
    ``alias`` is the other name that the program uses for it, if it does; the end of a loop has ``loop.close``.
    """

    index: int
    op_name: str
    op: Operator | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    span: Span
    op_span: Span
    param_spans: dict[str, Span] = field(default_factory=dict)
    input_spans: tuple[Span, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    alias: str = ""

    @property
    def written(self) -> str:
        """The operator's name as the program has it: for people, and for what is put into the text again."""
        return self.alias or self.op_name

    @property
    def has_class(self) -> bool:
        """Whether the program names an operator there; it does not where a loop is closed."""
        return self.op is None or self.op.looping is not LoopPart.ENDS


@dataclass(slots=True)
class Graph:
    """A program as operators joined by streams, in program order. ``returns`` are stream indices in order."""

    name: str
    streams: list[GraphStream] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    return_spans: list[Span] = field(default_factory=list)
    complete: bool = True  # False: something could not be built, so it cannot run
