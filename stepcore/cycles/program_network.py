"""What a program's network is made of, and its streams as the network has them: sizes, tokens, elements in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stepcore.cycles.flops import CallCost
from stepcore.cycles.ragged_units import RaggedStream
from stepcore.cycles.routes import ProgramRoutes, Source
from stepcore.cycles.tokens import SizeLevels, StreamTokens, tokens_of
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode, TypedStream
from stepcore.ops.pace import LoopPart, Routing
from stepcore.sizes.dim import Derived, Dim, DimError, product
from stepcore.timing.hardware import Hardware
from stepcore.timing.network import Network
from stepcore.timing.unit_programs import Amount, Tokens
from stepcore.types import Buffer, StreamType, Tile, element_bytes


class NotTimed(Exception):
    """A program that has no network: an operator has no unit, or a size is not known. The message says which."""


class OrderNotRun(NotTimed):
    """What chunks become in the ``order`` that arrival decides, by node, the functional run does not tell: it had
    another one. A run in this order does.
    """

    def __init__(self, message: str, order: Mapping[int, tuple[int, ...]]) -> None:
        super().__init__(message)
        self.order = order


@dataclass(frozen=True, slots=True)
class CallTerms:
    """Cycles that a call takes at least: for the bytes that come from memory, its FLOPs, the bytes that go there."""

    given: int
    compute: int
    out: int
    flops: int


@dataclass(slots=True)
class ProgramNetwork:
    """A network, and what its parts are.

    ``units`` are nodes of the graph (-1: an end), ``streams`` the streams of the graph by their channels, ``terms``
    what rules the calls of a node, ``flops`` those of a node over the whole run. ``doubtful`` are operations whose cost
    nobody knows, with the first nodes that apply them. ``routed`` are the routes of Partition and Merge. ``sizes`` are
    those at which the graph was taken, those that only the data know included; ``kept`` are bytes of parameters that
    stay on chip; ``opens`` says whether lists of inputs are as long as only data know.
    """

    network: Network
    sizes: dict[str, int]
    routed: ProgramRoutes
    units: list[int] = field(default_factory=list)
    streams: dict[int, int] = field(default_factory=dict)
    terms: dict[int, CallTerms] = field(default_factory=dict)
    flops: dict[int, int] = field(default_factory=dict)
    bandwidth: dict[int, int] = field(default_factory=dict)  # FLOPs per cycle of nodes that the program gives some
    doubtful: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    opens: bool = False

    @property
    def routes(self) -> Source:
        """Where the routes come from."""
        return self.routed.source


class ProgramStreams:
    """The streams of a program that becomes a network; others of this package add its units."""

    def __init__(
        self,
        spec: ProgramSpec,
        graph: TypedGraph,
        bindings: Mapping[str, int],
        hardware: Hardware,
        routes: ProgramRoutes,
    ) -> None:
        self.spec, self.graph, self.hardware, self.routes = spec, graph, hardware, routes
        self.sizes = {**spec.most(bindings), **routes.sizes}
        self.network = Network(hardware)
        opens = any(size.is_open for port in spec.inputs for size in port.type.shape)
        self.program = ProgramNetwork(self.network, self.sizes, routes, opens=opens)
        self.channel: dict[int, int] = {}
        self.parameters = {port.name: tuple(reversed(port.type.shape)) for port in spec.parameters}
        self.waits: dict[int, list[int]] = {}  # by node: channels that tell that a parameter is there
        self.costs: dict[int, CallCost] = {}  # of functions, by their identity: helpers apply one many times
        self.ports = 0
        self.port_of: dict[int, int] = {}  # of nodes that load or store
        self.readers = {index: node for node in graph.nodes for index in node.inputs}
        self.loops = loops_of(graph)  # by the streams that loops give, those that close them: one FIFO each
        self.opened: dict[int, StreamTokens] = {}  # streams whose lists differ in length
        self.lengths: dict[str, list[int]] = {}  # ragged sizes, by their texts

    def number(self, size: Dim) -> int:
        """Return a size as a number; what only a run knows, and no run told, as the largest that it can be.

        Raises:
            NotTimed: nothing says how large it is.
        """
        try:
            for made in size.derivations():
                if made.text not in self.sizes:
                    self.sizes[made.text] = self._derived(made)
            return size.bind(self.sizes)
        except (DimError, KeyError) as error:
            raise NotTimed(f"the size {size} is not known: {error}") from error

    def _derived(self, made: Derived) -> int:
        first = made.operands[0]
        if made.operator == "sum" and isinstance(first, Dim):
            lengths, positions = self._lengths(first), Dim.of(made.operands[1])  # type: ignore[arg-type]
            return sum(lengths) if lengths is not None else self.number(first) * self.number(positions)
        if made.operator in ("one", "ceil") and isinstance(first, Dim):
            self.number(first)  # what it is derived from
            return Dim.derived(made).bind(self.sizes)
        return self.number(made.most)

    def _lengths(self, size: Dim) -> list[int] | None:
        """Return the values of a ragged size, one for each position outside; None where they are not known."""
        for made in size.derivations():
            if made.operator == "sum" and made.ragged and made.text not in self.lengths:
                summed = self._summed(made)
                if summed is not None:
                    self.lengths[made.text] = summed
        known = [made.text for made in size.derivations() if made.text in self.lengths]
        if not known:
            return None
        self.number(size)  # and all that it is derived from
        rows = zip(*(self.lengths[name] for name in known), strict=True)
        return [size.bind({**self.sizes, **dict(zip(known, row, strict=True))}) for row in rows]

    def _summed(self, made: Derived) -> list[int] | None:
        """Return the sums of a size over so many positions of each list, where only how many these are is known."""
        inner, counted = made.operands
        counts = self._lengths(counted) if isinstance(counted, Dim) else None
        if counts is None or not isinstance(inner, Dim) or self._lengths(inner) is not None:
            return None
        most = self.number(inner)
        return [most * count for count in counts]

    def _open_known(self) -> None:
        """Say of streams with ragged sizes whose lengths are known that their lists differ; of empty ones, too."""
        for stream in self.graph.streams:
            if stream.index in self.opened or not any(size.is_open for size in stream.type.shape):
                continue
            if not any(size.is_ragged for size in stream.type.shape):
                numbers = [self.number(size) for size in stream.type.shape]
                if numbers[-1] and any(not n and _is_own(s) for n, s in zip(numbers, stream.type.shape, strict=True)):
                    self._open(stream.index, numbers)  # empty lists are tokens
            else:
                known = [self._lengths(size) for size in stream.type.shape]
                if any(lengths is not None for lengths in known):
                    pairs = zip(known, stream.type.shape, strict=True)
                    self._open(stream.index, [self.number(size) if row is None else row for row, size in pairs])

    def _depth(self, stream: TypedStream) -> int | None:
        """Return the depth that the program gives the FIFO of a stream; None where that is the chip's own."""
        depth = None if stream.producer is None else self.graph.nodes[stream.producer].op.depth
        if depth is None and stream.index in self.loops:
            return self._depth(self.graph.streams[self.loops[stream.index]])
        return None if depth is None else self.number(Dim.of(depth))

    def _latency(self, stream: TypedStream) -> int | None:
        """Return the latency of a FIFO, None for the chip's own: tokens to a free lane switch on their way."""
        if stream.index in self.loops:
            return self._latency(self.graph.streams[self.loops[stream.index]])
        node = None if stream.producer is None else self.graph.nodes[stream.producer]
        if node is None or not is_free(node) or stream.index == node.outputs[-1]:
            return None
        return self.hardware.fifo.latency + self.hardware.unit.switch

    def _tokens(self, index: int) -> int:
        opened = self.opened.get(index)
        return len(opened.ends) if opened is not None else self.number(product(self._type(index).shape))

    def _elements(self, index: int) -> Tokens:
        """Return which tokens of a stream are elements: their number, where all are."""
        opened = self.opened.get(index)
        return opened.elements if opened is not None else self._tokens(index)

    def _chunks(self, index: int, dims: int) -> Amount:
        """Return how many tokens each list of ``dims`` dimensions has; one number, where all have as many."""
        opened = self.opened.get(index)
        if opened is not None:
            return opened.groups(dims)
        return self.number(product(self._type(index).shape[:dims]))

    def _open(self, index: int, levels: SizeLevels) -> None:
        """Say that lists of a stream differ in length.

        Raises:
            NotTimed: these are no levels of the stream.
        """
        try:
            if len(levels) != len(self._type(index).shape):
                raise ValueError(f"{len(levels)} levels for {len(self._type(index).shape)} dimensions")
            self.opened[index] = tokens_of(levels)
        except ValueError as error:
            raise NotTimed(f"the lengths of {self.graph.streams[index].name} are not known: {error}") from error

    def _stream(self, index: int) -> RaggedStream:
        shape = self._type(index).shape
        tokens = self.opened.get(index) or tokens_of([self.number(size) for size in shape])
        return RaggedStream(self.channel[index], len(shape), tokens)

    def _bytes(self, index: int) -> int:
        return self.number(element_bytes(self._type(index).element))

    def _type(self, index: int) -> StreamType:
        return self.graph.streams[index].type

    def _rows(self, index: int) -> tuple[int, int]:
        """Return an element as rows of bytes: those of its innermost size, which of a tile are its columns."""
        element, whole = self._type(index).element, self._bytes(index)
        inner, sizes = (element.element, element.shape) if isinstance(element, Buffer) else (element, ())
        if isinstance(inner, Tile):
            sizes = (*reversed(inner.shape), *sizes)
        rows = self.number(product(sizes[1:]))
        return rows, whole // max(rows, 1)


def _is_own(size: Dim) -> bool:
    """Whether no selector decides a size: what came from an empty branch is no token, Promote of it included."""
    return all(made.operator != "routed" for made in size.derivations())


def is_end_of_loop(node: TypedNode) -> bool:
    """Return whether a node is where a loop begins or ends, which is no unit."""
    return node.op.looping is not LoopPart.NOTHING


def loops_of(graph: TypedGraph) -> dict[int, int]:
    """Return the streams that close loops, by the streams that the loops give."""
    if not graph.has_loops:
        return {}
    from stepcore.graph.loops import closing  # few programs have some

    return closing(graph)


def is_free(node: TypedNode) -> bool:
    """Return whether a node deals chunks out to lanes that have room."""
    return node.op.routes is Routing.DEALS and node.op.param_values()["policy"] == "free"
