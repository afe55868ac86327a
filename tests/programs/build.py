"""A program under construction: the typing rules of the language page ("Operators"), written down a third time.

Every method appends one operator (or one input) and gives the streams that it makes. Inputs have to be well-typed
already: the caller, `generate`, chooses them so.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import functions
from .model import NUMBER, Fn, Input, Kind, Part, Program, Shape, Step, Stream
from .sizes import Size, number, product, symbol

MAX_RESULT = 400


class Builder:
    """Holds the program, and the streams that nobody has consumed yet (`live`)."""

    def __init__(self, rng: Random, sizes: dict[str, int]) -> None:
        self.rng = rng
        self.program = Program(sizes)
        self.symbols = tuple(symbol(name, value) for name, value in sizes.items())
        self.live: list[Stream] = []
        self._weights = functions.Weights(self.program.weights)
        self._routes = 0
        self._fresh = 0
        self._groups = 0

    def new_group(self) -> int:
        """A number for the applications of one stage to all branches."""
        self._groups += 1
        return self._groups

    def new_input(self, shape: Shape, kind: Kind) -> Stream:
        """A further input of the program."""
        stream = self._stream(shape, kind, "input", self._route(kind))
        generator: str | None = self.rng.choice(("torch.rand", "torch.randn", "torch.randn", "torch.ones", "binary"))
        ones = None
        if any(part.bits is not None for part in kind.parts):
            generator = "binary"
            if not kind.is_tuple and self.rng.randrange(3):
                bits = kind.parts[0].bits
                assert bits is not None
                generator, ones = None, self.rng.choice(((0, 0), (0, 1), (1, 1), (0, bits.value), (bits.value,) * 2))
        self.program.inputs.append(Input(stream, generator, ones))
        return stream

    # -- operators -----------------------------------------------------------------------------------

    def map(self, streams: tuple[Stream, ...], target: Kind | None = None, group: int = 0) -> Stream:
        """`Map` of a generated function; several streams are zipped first."""
        source = streams[0].kind if len(streams) == 1 else joined(streams)
        wanted = target or self._target(streams[0], functions.map_target, source)
        fn = self._fn(source, wanted, functions.map_body(self.rng, self._weights, source, wanted))
        made = self._stream(streams[0].shape, wanted, "Map", self._route(wanted))
        return self._step("Map", {"fn": fn}, streams, (made,), group)[0]

    def fold(self, op: str, stream: Stream, b: int, target: Kind | None = None, group: int = 0) -> Stream:
        """`Accum` or `Scan` of a generated function."""
        wanted = target or self._target(stream, functions.fold_target, stream.kind)
        shape = stream.shape[b:] if op == "Accum" else stream.shape
        made = self._stream(shape, wanted, op, self._route(wanted))
        return self._step(op, {"fn": self.fold_fn(stream.kind, wanted), "b": b}, (stream,), (made,), group)[0]

    def fold_fn(self, source: Kind, target: Kind) -> str:
        """A new accumulating function."""
        body, init = functions.fold_body(self.rng, self._weights, source, target)
        return self._fn(source, target, body, init)

    def zip(self, left: Stream, right: Stream, group: int = 0) -> Stream:
        """`Zip`."""
        made = self._stream(left.shape, joined((left, right)), "Zip")
        return self._step("Zip", {}, (left, right), (made,), group)[0]

    def promote(self, stream: Stream, b: int, group: int = 0) -> Stream:
        """`Promote`."""
        shape = (*stream.shape[:b], number(1), *stream.shape[b:])
        return self._reshaped("Promote", {"b": b}, stream, shape, group)

    def flatten(self, stream: Stream, first: int, last: int, group: int = 0) -> Stream:
        """`Flatten` with the indices `first .. last`."""
        merged = product(stream.shape[first - 1 : last + 1])
        shape = (*stream.shape[: first - 1], merged, *stream.shape[last + 1 :])
        return self._reshaped("Flatten", {"L": list(range(first, last + 1))}, stream, shape, group)

    def reshape(self, stream: Stream, chunk: Size, indices: list[int], group: int = 0) -> Stream:
        """`Reshape`; `chunk` divides each dimension of `indices`."""
        shape: list[Size] = []
        for index, size in enumerate(stream.shape):
            if index in indices:
                quotient = size.divided_by(chunk)
                assert quotient is not None
                shape += [chunk, quotient]
            else:
                shape.append(size)
        return self._reshaped("Reshape", {"S": chunk, "L": indices}, stream, tuple(shape), group)

    def repeat(self, stream: Stream, n: Size, group: int = 0) -> Stream:
        """`Repeat`, now and then by its other name."""
        made = self._stream((n, *stream.shape), stream.kind, "Repeat")
        return self._step("Repeat", {"n": n}, (stream,), (made,), group)[0]

    def repeat_ref(self, stream: Stream, ref: Stream) -> Stream:
        """`RepeatRef`."""
        made = self._stream(ref.shape, stream.kind, "RepeatRef")
        return self._step("RepeatRef", {}, (stream, ref), (made,))[0]

    def bufferize(self, stream: Stream, a: int, group: int = 0) -> Stream:
        """`Bufferize`."""
        part = stream.kind.parts[0]
        kind = Kind((Part((*part.sizes, *stream.shape[:a]), part.bits),))
        made = self._stream(stream.shape[a:], kind, "Bufferize")
        return self._step("Bufferize", {"a": a}, (stream,), (made,), group)[0]

    def streamify(self, stream: Stream, group: int = 0) -> Stream:
        """`Streamify`."""
        part = stream.kind.parts[0]
        kind = Kind((Part((), part.bits),))
        made = self._stream((*part.sizes, *stream.shape), kind, "Streamify", self._route(kind))
        return self._step("Streamify", {}, (stream,), (made,), group)[0]

    def copy(self, stream: Stream) -> tuple[Stream, Stream]:
        """`Copy`."""
        pair = [self._stream(stream.shape, stream.kind, "Copy", stream.route) for _ in range(2)]
        first, second = self._step("Copy", {}, (stream,), tuple(pair))
        return first, second

    def partition(self, data: Stream, selector: Stream) -> list[Stream]:
        """`Partition`; each branch gets a size of its own, which depends on data."""
        count = branches_of(selector)
        inner = data.rank - selector.rank
        positions = product(selector.shape).value
        made = []
        for branch in range(count):
            self._fresh += 1
            size = symbol(f"?{selector.route}.{branch}.{self._fresh}", positions, fresh=True)
            made.append(self._stream((*data.shape[:inner], size), data.kind, "Partition"))
        return self._step("Partition", {"N": count}, (data, selector), tuple(made))

    def merge(self, branches: list[Stream], selector: Stream, target: Kind) -> Stream:
        """`Merge`."""
        fn = self.fold_fn(branches[0].kind, target)
        made = self._stream((*branches[0].shape[:-1], *selector.shape), target, "Merge", self._route(target))
        return self._step("Merge", {"fn": fn}, (*branches, selector), (made,))[0]

    def identity(self, stream: Stream, group: int = 0, *, probe: bool = False) -> Stream:
        """`Identity`; a probe's result stays unused, it is there to have the stream consumed."""
        made = self._reshaped("Identity", {}, stream, stream.shape, group)
        if probe:
            self.live.remove(made)
            self.program.dead.add(made.index)
        return made

    def _target(self, stream: Stream, choose: Callable[[Random, Kind, tuple[Size, ...]], Kind], source: Kind) -> Kind:
        """An output type for a function on `stream` that does not make the result huge."""
        kind = choose(self.rng, source, self.symbols)
        return kind if product(stream.shape).value * kind.volume <= MAX_RESULT else NUMBER

    # -- the machinery ---------------------------------------------------------------------------------

    def _route(self, kind: Kind) -> int:
        if kind.is_tuple or kind.parts[0].bits is None or kind.parts[0].sizes:
            return 0
        self._routes += 1
        return self._routes

    def _stream(self, shape: Shape, kind: Kind, producer: str, route: int | None = None) -> Stream:
        index = len(self.program.streams)
        stream = Stream(index, shape, kind, producer, self._route(kind) if route is None else route)
        self.program.streams[index] = stream
        self.live.append(stream)
        return stream

    def _reshaped(self, op: str, params: dict[str, object], stream: Stream, shape: Shape, group: int) -> Stream:
        """An operator that leaves order and values alone; a selector still selects the same."""
        made = self._stream(shape, stream.kind, op, stream.route)
        return self._step(op, params, (stream,), (made,), group)[0]

    def _step(
        self,
        op: str,
        params: dict[str, object],
        inputs: tuple[Stream, ...],
        outputs: tuple[Stream, ...],
        group: int = 0,
    ) -> list[Stream]:
        for stream in inputs:
            self.live.remove(stream)
        numbers = tuple(stream.index for stream in inputs), tuple(stream.index for stream in outputs)
        self.program.steps.append(Step(op, dict(params), *numbers, group))
        return list(outputs)

    def _fn(self, source: Kind, target: Kind, body: str, init: tuple[str, ...] | None = None) -> str:
        name = f"fn_{len(self.program.fns)}"
        self.program.fns[name] = Fn(name, source, target, body, init)
        return name


def joined(streams: tuple[Stream, ...]) -> Kind:
    """The flat tuple that zipping makes."""
    return Kind(tuple(part for stream in streams for part in stream.kind.parts), True)


def branches_of(selector: Stream) -> int:
    """How many branches a selector selects among."""
    bits = selector.kind.parts[0].bits
    assert bits is not None
    return bits.value
