"""Programs on units and FIFOs, token by token: what the static depth rule is compared with. Times are left out.

The units are those of the timing page, each a generator that yields while it waits: these know nothing of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any, TypeAlias

from oracle.timing import run_literally
from stepcore.check.depths import Demand, depths_of, net_of, waits
from stepcore.cycles.flops import CallCost
from stepcore.cycles.network_of import _Builder
from stepcore.cycles.routes import ProgramRoutes
from stepcore.graph.ir import NOWHERE, Graph, GraphStream, Node, ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.sizes.dim import Dim

from stepcore.ops import (  # isort: skip
    Accum, Bufferize, Copy, Flatten, Identity, Map, Operator, Promote, Repeat, RepeatRef, Reshape, Scan, Streamify, Zip,
)  # fmt: skip
from stepcore.ops.base import FnLike, Operand, TypingContext
from stepcore.timing.hardware import PRESETS
from stepcore.timing.network import Network
from stepcore.types import Element, Scalar, StreamType, as_shape, join

Wait: TypeAlias = Iterator[None]
F32 = Scalar("fp32")


@dataclass(slots=True)
class Fifo:
    """A channel that holds ``depth`` elements at most; ``moved`` counts what came and went."""

    depth: int
    held: int = 0
    moved: int = 0

    def put(self) -> Wait:
        while self.held >= self.depth:
            yield
        self.held += 1
        self.moved += 1

    def peek(self) -> Wait:
        while not self.held:
            yield

    def take(self) -> Wait:
        while not self.held:
            yield
        self.held -= 1
        self.moved += 1


def stops(graph: Graph, depths: Sequence[int]) -> bool:
    """Return whether ``graph``, whose sizes are numbers, stops before its end with FIFOs of these depths."""
    fifos = [Fifo(depth) for depth in depths]
    inside = {index for node in graph.nodes if _is_inside(graph, node) for index in node.outputs}
    users = {index for node in graph.nodes for index in node.inputs}
    running = [_unit(graph, node, fifos, inside) for node in graph.nodes if node.outputs[0] not in inside]
    running += [_source(fifos[index], _elements(graph, index)) for index in graph.inputs]
    open_ends = [stream.index for stream in graph.streams if stream.index not in users]
    running += [_sink(fifos[index], _elements(graph, index)) for index in open_ends]
    moved = -1
    while running and moved != (moved := sum(fifo.moved for fifo in fifos)):
        running = [unit for unit in running if next(unit, unit) is None]
    return bool(running)


def _is_inside(graph: Graph, node: Node) -> bool:
    """Whether ``node`` is a Zip that is part of the unit behind it."""
    users = [other for other in graph.nodes if node.outputs[0] in other.inputs]
    return isinstance(node.op, Zip) and any(
        isinstance(user.op, Map | Scan | Accum) or (isinstance(user.op, Zip) and _is_inside(graph, user))
        for user in users
    )


def _elements(graph: Graph, index: int) -> int:
    stream = graph.streams[index].type
    assert stream is not None
    return prod(size.constant or 0 for size in stream.shape)


def _source(fifo: Fifo, count: int) -> Wait:
    for _ in range(count):
        yield from fifo.put()


def _sink(fifo: Fifo, count: int) -> Wait:
    for _ in range(count):
        yield from fifo.take()


def _unit(graph: Graph, node: Node, fifos: Sequence[Fifo], inside: set[int]) -> Wait:
    def read(index: int) -> list[int]:
        if index not in inside:
            return [index]
        producer = graph.streams[index].producer
        assert producer is not None
        return [other for each in graph.nodes[producer].inputs for other in read(each)]

    ins = [fifos[index] for each in node.inputs for index in read(each)]
    outs = [fifos[index] for index in node.outputs]
    given, made = _elements(graph, node.inputs[0]), _elements(graph, node.outputs[0])
    match node.op:
        case Map() | Scan():
            return _map(ins, outs[0], given)
        case Accum() | Bufferize():
            return _fold(ins, outs[0], given // made, made)
        case Repeat() | Streamify():
            return _repeat(ins[0], outs[0], made // given, given)
        case RepeatRef():
            return _repeat_ref(ins[0], ins[1], outs[0], made // given, given)
        case Promote(b=b) if b == len(_shape(graph, node.inputs[0])):
            return _promote_last(ins[0], outs[0], given)
        case Flatten() | Reshape() | Promote() | Identity() | Zip() | Copy():
            return _pass_on(ins, outs, given)
    raise AssertionError(node.op)


def _shape(graph: Graph, index: int) -> tuple[Dim, ...]:
    stream = graph.streams[index].type
    assert stream is not None
    return stream.shape


def _all(waits: Iterator[Wait]) -> Wait:
    for wait in waits:
        yield from wait


def _map(ins: list[Fifo], out: Fifo, count: int) -> Wait:
    for _ in range(count):
        yield from _all(fifo.peek() for fifo in ins)
        yield from out.put()
        yield from _all(fifo.take() for fifo in ins)


def _fold(ins: list[Fifo], out: Fifo, size: int, count: int) -> Wait:
    for _ in range(count):
        for _ in range(size):
            yield from _all(fifo.peek() for fifo in ins)
            yield from _all(fifo.take() for fifo in ins)
        yield from out.put()


def _repeat(data: Fifo, out: Fifo, times: int, count: int) -> Wait:
    for _ in range(count):
        yield from data.peek()
        for _ in range(times):
            yield from out.put()
        yield from data.take()


def _repeat_ref(data: Fifo, ref: Fifo, out: Fifo, times: int, count: int) -> Wait:
    for _ in range(count):
        yield from data.peek()
        for _ in range(times):
            yield from ref.take()
            yield from out.put()
        yield from data.take()


def _promote_last(data: Fifo, out: Fifo, count: int) -> Wait:
    for number in range(count):
        yield from data.take()
        if number < count - 1:
            yield from data.peek()
        yield from out.put()


def _pass_on(ins: list[Fifo], outs: list[Fifo], count: int) -> Wait:
    for _ in range(count):
        yield from _all(fifo.peek() for fifo in ins)
        yield from _all(fifo.take() for fifo in ins)
        while any(fifo.held >= fifo.depth for fifo in outs):
            yield
        yield from _all(fifo.put() for fifo in outs)


# -- the rule, at every element ----------------------------------------------------------------------------


def _number(size: Dim) -> int | None:
    return size.constant


def stops_by_rule(graph: Graph, depths: Sequence[int], *, at_first: bool = False) -> bool:
    """Return what the depth rule says of sizes that are numbers, about all elements of folds or ``at_first`` alone."""
    net = net_of(TypedGraph(graph), depths, _number)
    net.work = 1 << 40
    for start in net.firsts():
        unit = net.units[start.unit]
        count = 1 if at_first else _elements(graph, unit.writes[0])
        if any(net.ring(Demand(start.unit, True, unit.folds * number)) for number in range(1, count + 1)):
            return True
    return False


def assert_agrees(random: Random) -> bool:
    """Draw a program and depths, and return whether it stops, which the rule has to say.

    At first elements alone the rule may overlook one that stops later, but not accuse one that does not.
    """
    drawn = Drawn(random)
    depths = [random.choice((1, 1, 2, 2, 3, 4)) for _ in drawn.graph.streams]
    stopped = stops(drawn.graph, depths)
    assert stops_by_rule(drawn.graph, depths) is stopped
    assert stopped or not stops_by_rule(drawn.graph, depths, at_first=True)
    return stopped


# -- random programs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fn:
    """An element function as typing rules see it."""

    input: Element
    output: Element = F32
    has_state: bool = False
    func_name: str = "fn"
    is_count: bool = False


@dataclass
class Builder:
    """Writes well-typed graphs; streams are known by their index."""

    graph: Graph = field(default_factory=lambda: Graph("wires"))
    context: TypingContext = field(default_factory=TypingContext)

    def stream(self, kind: StreamType, producer: int | None = None, slot: int = 0) -> int:
        index = len(self.graph.streams)
        self.graph.streams.append(GraphStream(index, f"s{index}", NOWHERE, producer, slot, type=kind))
        return index

    def input(self, *sizes: Dim | int) -> int:
        index = self.stream(StreamType(F32, as_shape(sizes)))
        self.graph.inputs.append(index)
        return index

    def apply(self, op: Operator, *inputs: int) -> tuple[int, ...]:
        number = len(self.graph.nodes)
        types = op.infer([Operand(self.type(index)) for index in inputs], self.context)
        outputs = tuple(self.stream(kind, number, slot) for slot, kind in enumerate(types))
        self.graph.nodes.append(Node(number, type(op).__name__, op, inputs, outputs, NOWHERE, NOWHERE))
        return outputs

    def one(self, op: Operator, *inputs: int) -> int:
        return self.apply(op, *inputs)[0]

    def copy(self, stream: int) -> tuple[int, int]:
        first, second = self.apply(Copy(), stream)
        return first, second

    def type(self, stream: int) -> StreamType:
        kind = self.graph.streams[stream].type
        assert kind is not None
        return kind

    def sizes(self, stream: int) -> tuple[int, ...]:
        return tuple(size.constant or 0 for size in self.type(stream).shape)

    def fold(self, stream: int, dims: int) -> int:
        return self.one(Accum(fn=Fn(self.type(stream).element, has_state=True), b=dims), stream)

    def join(self, *streams: int) -> int:
        element = self._pair(streams)
        return self.one(Map(fn=Fn(element)), *streams)

    def _pair(self, streams: Sequence[int]) -> Any:
        found = [self.type(index).element for index in streams]
        return found[0] if len(found) == 1 else join(found)


class Drawn(Builder):
    """A random program: paths from a stream keep its shape, so that any two of them can be joined again."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.left = random.randint(2, 6)  # forks and joins
        sizes = [random.randint(1, 4) for _ in range(random.randint(1, 3))]
        streams = [self.input(*sizes) for _ in range(random.choice((1, 1, 2)))]
        while self.left > 0:
            streams = self._grown(streams)
        while len(streams) > 1 and random.random() < 0.8:
            a, b = (streams.pop(random.randrange(len(streams))) for _ in range(2))
            streams.append(self._joined(self._path(a), self._path(b)))
        self.graph.returns = streams

    def _grown(self, streams: list[int]) -> list[int]:
        self.left -= 1
        at = self.random.randrange(len(streams))
        if len(streams) > 1 and self.random.random() < 0.4:
            other = (at + self.random.randrange(1, len(streams))) % len(streams)
            rest = [stream for place, stream in enumerate(streams) if place not in (at, other)]
            return [*rest, self._joined(self._path(streams[at]), self._path(streams[other]))]
        first, second = self.copy(streams.pop(at))
        return [*streams, self._path(first), second]

    def _joined(self, a: int, b: int) -> int:
        if self.random.random() < 0.5:
            return self.join(a, b)
        pair = self.one(Zip(), a, b)
        if self.random.random() < 0.5:
            pair = self.one(Identity(), pair)
        if len(self.sizes(pair)) > 1 and self.random.random() < 0.3:
            return self._spread(self.fold(pair, 1), self.sizes(pair)[:1])
        return self.join(pair)

    def _path(self, stream: int) -> int:
        for _ in range(self.random.choice((0, 1, 1, 2))):
            stream = self.random.choice(self._steps())(stream)
        return stream

    def _steps(self) -> list[Callable[[int], int]]:
        return [
            self._plain, self._folded, self._folded, self._folded_by_reference, self._buffered, self._buffered_whole,
            self._regrouped, self._promoted,
        ]  # fmt: skip

    def _plain(self, stream: int) -> int:
        element = self.type(stream).element
        scan = Scan(fn=Fn(element, has_state=True), b=1) if len(self.sizes(stream)) > 1 else None
        return self.one(self.random.choice([Identity(), Map(fn=Fn(element)), scan or Identity()]), stream)

    def _spread(self, stream: int, sizes: Sequence[int]) -> int:
        for size in reversed(sizes):
            stream = self.one(Repeat(n=size), stream)
        return stream

    def _folded(self, stream: int) -> int:
        sizes = self.sizes(stream)
        if len(sizes) == 1:
            return self._promoted(stream)
        dims = self.random.randint(1, len(sizes) - 1)
        return self._spread(self.fold(stream, dims), sizes[:dims])

    def _folded_by_reference(self, stream: int) -> int:
        if len(self.sizes(stream)) == 1:
            return self._plain(stream)
        first, second = self.copy(stream)
        return self.one(RepeatRef(), self._path(self.fold(first, 1)), self._path(second))

    def _buffered(self, stream: int) -> int:
        rank = len(self.sizes(stream)) - 1
        if not rank:
            return self._plain(stream)
        held = self.one(Bufferize(a=self.random.randint(1, rank)), stream)
        if self.random.random() < 0.3:
            held = self.one(Identity(), held)
        return self.one(Streamify(), held)

    def _buffered_whole(self, stream: int) -> int:
        rank = len(self.sizes(stream)) - 1
        held = self.one(Bufferize(a=rank + 1), self.one(Promote(b=rank + 1), stream))
        return self.one(Flatten(L=[rank + 1]), self.one(Streamify(), held))

    def _promoted(self, stream: int) -> int:
        place = self.random.randint(0, len(self.sizes(stream)))
        return self.one(Flatten(L=[max(place, 1)]), self.one(Promote(b=place), stream))

    def _regrouped(self, stream: int) -> int:
        """Fold other groups of elements than dimensions, also such as lie across those."""
        sizes = self.sizes(stream)
        rank = len(sizes) - 1
        flat = self.one(Flatten(L=list(range(1, rank + 1))), stream) if rank else stream
        whole = prod(sizes)
        groups = [size for size in range(1, whole + 1) if whole % size == 0]
        size = self.random.choice(groups)
        parts = self.one(Reshape(S=size, L=[0]), flat)
        flat = self.one(Flatten(L=[1]), self._spread(self.fold(parts, 1), [size]))
        inner = 1
        for place, size in enumerate(sizes[:-1]):
            flat = self.one(Reshape(S=size, L=[place]), flat)
            inner *= size
        return flat


# -- the same programs on the literal timing engine ---------------------------------------------------------


class _Wired(_Builder):
    """Networks of programs whose functions have types and no bodies: each call takes a cycle."""

    def _cost(self, fn: FnLike) -> CallCost:
        return CallCost(1, ())


def network_of_wires(graph: Graph) -> Network:
    """The network of a drawn program on the default chip, with the depths that its operators have."""
    typed = TypedGraph(graph)
    return _Wired(ProgramSpec("wires"), typed, {}, PRESETS["default"], ProgramRoutes("none")).build().network


def deepened(op: Operator, depth: int) -> Operator:
    """The operator with FIFOs of that depth."""
    return type(op).made({**op.param_values(), "depth": depth})


def with_random_depths(graph: Graph, random: Random) -> None:
    """Give half of the operators a ``depth=``."""
    for node in graph.nodes:
        assert node.op is not None
        if random.random() < 0.5:
            node.op = deepened(node.op, random.choice((1, 1, 2, 3, 4, 5, 7)))


def assert_literal_agrees(random: Random) -> bool:
    """Draw a program with ``depth=`` of its operators, and return whether the literal timing engine stops with it.

    The rule says so too, of all elements; what it says of the first ones alone accuses no program that runs. The depths
    that it tells let a program run that stops for nothing else.
    """
    graph = Drawn(random).graph
    with_random_depths(graph, random)
    stopped = bool(run_literally(network_of_wires(graph)).waiting)
    depths = [depth.constant or 0 for depth in depths_of(TypedGraph(graph))]
    assert stops_by_rule(graph, depths) is stopped
    assert stopped or not waits(TypedGraph(graph))
    if _deepened_as_told(graph):
        after = bool(run_literally(network_of_wires(graph)).waiting)
        assert after is stops_by_rule(graph, [depth.constant or 0 for depth in depths_of(TypedGraph(graph))])
        assert stopped or not after
    return stopped


def _deepened_as_told(graph: Graph) -> bool:
    """Write the depths that the rule tells until it tells no more; return whether all of them can be written."""
    for _ in range(len(graph.nodes)):  # a large program takes more work than there is for one look
        waiting = waits(TypedGraph(graph))
        if not waiting:
            return True
        for item in waiting:
            producer = graph.streams[item.stream].producer
            op = None if producer is None else graph.nodes[producer].op
            if producer is None or op is None or item.depth is None or item.depth.constant is None:
                return False
            before = op.depth if isinstance(op.depth, int) else 0
            graph.nodes[producer].op = deepened(op, max(item.depth.constant, before))
    raise AssertionError("depths that were told change nothing")
