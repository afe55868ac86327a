"""Random well-typed programs: a random operator, applied to random streams that it takes, again and again.

Everything comes from one `random.Random`, a seeded one or hypothesis' (`st.randoms()`), whose programs shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .build import Builder, branches_of
from .functions import fold_target
from .model import NUMBER, Kind, Part, Program, Stream
from .routes import MAX_PARTS, MAX_VOLUME, another_shape, open_routes, stage
from .sizes import Size, number, product

MAX_DIMS = 5
MAX_BRANCHES = 3


class NotApplicable(Exception):
    """No live stream suits the operator."""


def generate(rng: Random, steps: int = 10) -> Program:
    """A program of about `steps` operators, besides the probes that consume what cannot be returned."""
    sizes = {name: rng.choice((1, 2, 2, 3, 4)) for name in ("M", "N", "K", "D")} | {"E": rng.choice((1, 2, 3))}
    maker = Generator(Builder(rng, sizes))
    maker.start()
    for _ in range(steps):
        maker.grow()
    maker.finish()
    return maker.build.program


class Generator:
    """Chooses; the builder builds."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        self.rng = build.rng

    # -- the whole program -------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the first inputs."""
        for _ in range(self.rng.choice((1, 2))):
            rank = self.rng.choice((0, 1, 1, 2, 2, 3))
            shape = tuple(self._size() for _ in range(rank + 1))
            kind = self._kind()
            while product(shape).value * kind.volume > MAX_VOLUME:
                shape = shape[1:] or (number(2),)
                kind = kind if len(shape) > 1 else NUMBER
            self.build.new_input(shape, kind)

    def grow(self) -> None:
        """Append one random operator (or a short recipe for it)."""
        for _ in range(20):
            op = self.rng.choice(tuple(OPERATORS))
            try:
                OPERATORS[op](self)
            except NotApplicable:
                continue
            return

    def finish(self) -> None:
        """Return what can be declared, consume the rest."""
        build = self.build
        ends = list(build.live)
        self._shuffle(ends)
        kept = [stream for stream in ends if stream.known][: self.rng.choice((1, 2, 3))]
        for stream in ends:
            if stream not in kept:
                build.identity(stream, probe=True)
        if not kept:
            kept = [build.identity(build.new_input((number(2),), NUMBER))]
        build.program.returns = [stream.index for stream in kept]

    def _size(self) -> Size:
        if self.rng.randrange(4) == 0:
            return number(self.rng.choice((1, 2, 3, 4)))
        if self.rng.randrange(6) == 0:
            return self.rng.choice(self.build.symbols) * self.rng.choice(self.build.symbols)
        return self.rng.choice(self.build.symbols)

    def _part(self) -> Part:
        sizes = tuple(self._size() for _ in range(self.rng.choice((0, 0, 1, 1, 2))))
        bits = None if self.rng.randrange(4) else self._bits()
        return Part(sizes, bits)

    def _bits(self) -> Size:
        symbol = next(size for size in self.build.symbols if str(size) == "E")
        return self.rng.choice((number(2), number(3), symbol))

    def _kind(self) -> Kind:
        if self.rng.randrange(5) == 0:
            return Kind(tuple(self._part() for _ in range(self.rng.choice((1, 2, 2, 3)))), True)
        return Kind((self._part(),))

    def _shuffle(self, items: list[Stream]) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = self.rng.randrange(last + 1)
            items[last], items[other] = items[other], items[last]

    def pick(self, suits: Callable[[Stream], bool] = lambda _: True) -> Stream:
        """A live stream, the newest ones more often."""
        found = [stream for stream in self.build.live if suits(stream)]
        if not found:
            raise NotApplicable
        recent = found[-3:] if self.rng.randrange(2) else found
        return self.rng.choice(recent)

    # -- one operator each -------------------------------------------------------------------------------

    def map(self) -> None:
        """`Map`, of one stream or of several."""
        first = self.pick(lambda stream: stream.kind.known)
        streams = [first]
        for other in self.build.live:
            parts = parts_of([*streams, other])
            if other not in streams and self._zips(first, other) and parts <= MAX_PARTS and self.rng.randrange(2):
                streams.append(other)
        while self._nameable(first) and parts_of(streams) < MAX_PARTS and self.rng.randrange(8) == 0:
            streams.append(self.build.new_input(first.shape, NUMBER))
        self.build.map(tuple(streams))

    def accum(self) -> None:
        """`Accum`."""
        self._fold("Accum")

    def scan(self) -> None:
        """`Scan`."""
        self._fold("Scan")

    def _fold(self, op: str) -> None:
        stream = self.pick(lambda stream: stream.rank >= 1 and stream.kind.known)
        self.build.fold(op, stream, self.rng.randrange(1, stream.rank + 1))

    def _zips(self, first: Stream, other: Stream) -> bool:
        return other.shape == first.shape and other.kind.known

    def zip(self) -> None:
        """`Zip` of two live streams, of a new input, or of two copies."""
        first = self.pick(lambda stream: len(stream.kind.parts) < MAX_PARTS)
        room = MAX_PARTS - len(first.kind.parts)
        found = [
            stream
            for stream in self.build.live
            if stream is not first and stream.shape == first.shape and len(stream.kind.parts) <= room
        ]
        if found:
            second = self.rng.choice(found)
        elif self._nameable(first) and self.rng.randrange(2):
            kind = self._kind_up_to(8)
            second = self.build.new_input(first.shape, kind if len(kind.parts) <= room else NUMBER)
        elif 2 * len(first.kind.parts) <= MAX_PARTS:
            first, second = self.build.copy(first)
        else:
            raise NotApplicable
        pair = (first, second) if self.rng.randrange(2) else (second, first)
        self.build.zip(*pair)

    def _nameable(self, stream: Stream) -> bool:
        return all(size.known for size in stream.shape)

    def promote(self) -> None:
        """`Promote` at any index, sometimes several times over."""
        stream = self.pick(lambda stream: len(stream.shape) < MAX_DIMS)
        b = self.rng.randrange(len(stream.shape) + 1)
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            if len(stream.shape) < MAX_DIMS:
                stream = self.build.promote(stream, b)

    def flatten(self) -> None:
        """`Flatten` of any run of dimensions."""
        stream = self.pick(lambda stream: stream.rank >= 1)
        first = self.rng.randrange(1, stream.rank + 1)
        self.build.flatten(stream, first, self.rng.randrange(first, stream.rank + 1))

    def reshape(self) -> None:
        """`Reshape` by a number or a symbol, of one dimension or several."""
        stream = self.pick(lambda stream: len(stream.shape) < MAX_DIMS)
        chunks = [number(1), number(2), number(3), *self.build.symbols]
        options = []
        for chunk in chunks:
            fits = [i for i, size in enumerate(stream.shape) if size.divided_by(chunk) is not None]
            if fits:
                options.append((chunk, fits))
        real = [option for option in options if option[0].value > 1]
        chunk, fits = self.rng.choice(real if real and self.rng.randrange(4) else options)
        room = MAX_DIMS - len(stream.shape)
        count = self.rng.randrange(1, min(room, len(fits)) + 1)
        while len(fits) > count:
            fits.remove(self.rng.choice(fits))
        self.build.reshape(stream, chunk, fits if self.rng.randrange(3) else fits[::-1])

    def repeat(self) -> None:
        """`Repeat` by a number or a symbol."""
        n = self.rng.choice((number(1), number(2), number(3), *self.build.symbols))
        stream = self.pick(lambda stream: len(stream.shape) < MAX_DIMS and stream.volume * n.value <= MAX_VOLUME)
        self.build.repeat(stream, n)

    def repeat_ref(self) -> None:
        """`RepeatRef` with a live reference, one made from a copy, or a new input."""
        pairs = [
            (data, ref)
            for data in self.build.live
            for ref in self.build.live
            if ref is not data and ref.shape[1:] == data.shape and data.volume * ref.shape[0].value <= MAX_VOLUME
        ]
        if pairs:
            self.build.repeat_ref(*self.rng.choice(pairs))
            return
        stream = self.pick(lambda stream: len(stream.shape) < MAX_DIMS)
        n = self.rng.choice((number(1), number(2), *self.build.symbols))
        if stream.volume * n.value > MAX_VOLUME:
            raise NotApplicable
        if self._nameable(stream) and self.rng.randrange(2):
            self.build.repeat_ref(stream, self.build.new_input((n, *stream.shape), self._kind_up_to(2)))
        elif self._nameable(stream) and stream.rank >= 1 and self.rng.randrange(2):
            self.build.repeat_ref(self.build.new_input(stream.shape[1:], self._kind_up_to(2)), stream)
        else:
            first, second = self.build.copy(stream)
            self.build.repeat_ref(first, self.build.repeat(second, n))

    def _kind_up_to(self, volume: int) -> Kind:
        kind = self._kind()
        return kind if kind.volume <= volume else NUMBER

    def bufferize(self) -> None:
        """`Bufferize`, of buffers too."""
        stream = self.pick(
            lambda stream: stream.rank >= 1 and not stream.kind.is_tuple and len(stream.kind.parts[0].sizes) < 3
        )
        self.build.bufferize(stream, self.rng.randrange(1, stream.rank + 1))

    def streamify(self) -> None:
        """`Streamify`."""
        stream = self.pick(
            lambda stream: (
                not stream.kind.is_tuple and 1 <= len(stream.kind.parts[0].sizes) <= MAX_DIMS - len(stream.shape)
            )
        )
        self.build.streamify(stream)

    def copy(self) -> None:
        """`Copy`."""
        self.build.copy(self.pick())

    def identity(self) -> None:
        """`Identity`."""
        self.build.identity(self.pick())

    def partition(self) -> None:
        """`Partition`, followed by stages on all branches and, mostly, a `Merge`."""
        data, selector = self._routed()
        if self.rng.randrange(5) == 0:
            self.build.partition(data, selector)
            return
        selector, kept = self.build.copy(selector)
        branches = self.build.partition(data, selector)
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            branches = stage(self.build, branches)
        if branches[0].kind.known and self._merges(branches, kept) and self.rng.randrange(6):
            kept = another_shape(self.build, kept)
            target = fold_target(self.rng, branches[0].kind, self.build.symbols)
            self.build.merge(branches, kept, target)

    def merge(self) -> None:
        """`Merge`: of the branches of an open `Partition`, or after a new one."""
        for branches, selector in open_routes(self.build):
            if self._merges(branches, selector):
                self.build.merge(branches, selector, fold_target(self.rng, branches[0].kind, self.build.symbols))
                return
        self.partition()

    def _merges(self, branches: list[Stream], selector: Stream) -> bool:
        volume = product((*branches[0].shape[:-1], *selector.shape)).value * branches[0].kind.volume
        return len(branches[0].shape) - 1 + len(selector.shape) <= MAX_DIMS and volume <= 2 * MAX_VOLUME

    def _routed(self) -> tuple[Stream, Stream]:
        """A stream with a selector that fits its outermost dimensions."""
        pairs = [
            (data, selector)
            for selector in self.build.live
            for data in self.build.live
            if selector.route
            and branches_of(selector) <= MAX_BRANCHES
            and data is not selector
            and data.shape[-len(selector.shape) :] == selector.shape
        ]
        if pairs and self.rng.randrange(4):
            return self.rng.choice(pairs)
        data = self.pick(lambda stream: self._nameable(stream) or (stream.kind.known and stream.rank < 3))
        if self._nameable(data) and self.rng.randrange(3):
            r = self.rng.randrange(data.rank + 1)
            return data, self.build.new_input(data.shape[data.rank - r :], Kind((Part((), self._bits()),)))
        if not data.kind.known:
            raise NotApplicable
        data, other = self.build.copy(data)
        return data, self.build.map((other,), Kind((Part((), number(self.rng.choice((1, 2, 3)))),)))


def parts_of(streams: list[Stream]) -> int:
    """How many components the zip of these streams has."""
    return sum(len(stream.kind.parts) for stream in streams)


OPERATORS: dict[str, Callable[[Generator], None]] = {
    "Map": Generator.map,
    "Accum": Generator.accum,
    "Scan": Generator.scan,
    "Zip": Generator.zip,
    "Promote": Generator.promote,
    "Flatten": Generator.flatten,
    "Reshape": Generator.reshape,
    "Repeat": Generator.repeat,
    "RepeatRef": Generator.repeat_ref,
    "Bufferize": Generator.bufferize,
    "Streamify": Generator.streamify,
    "Copy": Generator.copy,
    "Partition": Generator.partition,
    "Merge": Generator.merge,
    "Identity": Generator.identity,
}
