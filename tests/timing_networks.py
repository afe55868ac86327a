"""Networks of units for tests: those of the timing chapter's small cases, and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.microcode import enq, enq_all, peek, request, take, times, work, work_table
from stepcore.timing.network import Network


def chip(depth: int | None = None, *, preset: str = "default", interleave: str | None = None) -> Hardware:
    """Return a preset with another depth of its FIFOs, or another order of channels."""
    found = PRESETS[preset]
    if depth is not None:
        found = replace(found, fifo=replace(found.fifo, depth=depth))
    return found if interleave is None else replace(found, memory=replace(found.memory, interleave=interleave))


class Build(Network):
    """A network with units by their names in the timing chapter."""

    def source(self, to: int, count: int, step: int = 1) -> None:
        """A token every ``step`` cycles."""
        self.unit("source", times(count, [*enq(to), *work(step)]), (), (to,))

    def sink(self, of: int, count: int) -> None:
        """Takes at once."""
        self.unit("sink", times(count, take(of)), (of,))

    def map(self, of: Sequence[int], to: int, count: int, cycles: int) -> None:
        """Map, or Scan."""
        self.unit("Map", times(count, [*peek(*of), *work(cycles), *enq(to), *take(*of)]), of, (to,))

    def accum(self, of: Sequence[int], to: int, folds: int, size: int, cycles: int, last: int | None = None) -> None:
        """Accum over ``size`` elements; ``last`` are the cycles of the last call of a fold."""
        call = [*peek(*of), *work(cycles), *take(*of)]
        end = [*peek(*of), *work(cycles if last is None else last), *take(*of), *enq(to)]
        self.unit("Accum", times(folds, [*times(size - 1, call), *end]), of, (to,))

    def flatten(self, of: int, to: int, count: int) -> None:
        """Flatten, and what else only hands on."""
        self.unit("Flatten", times(count, [*take(of), *enq(to)]), (of,), (to,))

    def copy(self, of: int, to: Sequence[int], count: int) -> None:
        """Copy."""
        self.unit("Copy", times(count, [*take(of), *enq_all(to)]), (of,), to)

    def repeat(self, of: int, to: int, count: int, n: int) -> None:
        """Repeat, or Streamify."""
        self.unit("Repeat", times(count, [*peek(of), *times(n, [*enq(to), *work(1)]), *take(of)]), (of,), (to,))

    def bufferize(self, of: int, to: int, buffers: int, size: int) -> None:
        """Bufferize."""
        self.unit("Bufferize", times(buffers, [*times(size, take(of)), *enq(to)]), (of,), (to,))

    def load(self, port: int, to: int, tiles: int, bursts: int) -> None:
        """A load without ``ref``."""
        self.unit("load", times(tiles, [*request(port, bursts), *enq(to)]), (), (to,))

    def store(self, port: int, of: int, tiles: int, bursts: int) -> None:
        """A store."""
        self.unit("store", times(tiles, [*peek(of), *request(port, bursts), *take(of)]), (of,))


def diamond(direct: int, *, behind: bool = False, rows: int = 3) -> Build:
    """Micro-case 4: ``[6, rows]``, Copy -> {Accum(b=1) -> Repeat(6), direct} -> Map; other FIFOs hold 1."""
    net = Build(chip(1))
    start, folded, sums, repeated, out = (net.channel(name) for name in ("x", "folded", "sums", "repeated", "out"))
    beside = net.channel("direct", direct)
    net.source(start, 6 * rows)
    net.copy(start, (folded, beside), 6 * rows)
    net.accum((folded,), sums, rows, 6, 1)
    net.repeat(sums, repeated, rows, 6)
    joined = beside
    if behind:
        joined = net.channel("behind", 1)
        net.flatten(beside, joined, 6 * rows)
    net.map((joined, repeated), out, 6 * rows, 1)
    net.sink(out, 6 * rows)
    return net


def swiglu(rows: int, columns: int, *, b: int = 64, d: int = 256, f: int = 512) -> Build:
    """The validation graph: an expert of static tiles ``[rows, columns]``, see the first program of generation 2."""
    chip_ = PRESETS["validation"]
    net = Build(chip_)
    n, m, bandwidth, peak = f // columns, b // rows, chip_.onchip.bandwidth, chip_.compute.bandwidth
    x, wg, wu, wd, x0, x1, gate, up, act, hidden, again, out = (
        net.channel(name) for name in ["x", "wg", "wu", "wd", "x0", "x1", "gate", "up", "act", "hidden", "again", "out"]
    )
    in_bytes, weight_bytes, down_bytes = rows * d * 4, d * columns * 4, columns * d * 4
    wide, narrow = _up(d * 4, 64), _up(columns * 4, 64)
    for port, (to, bursts) in enumerate(((x, rows * wide), (wg, d * narrow), (wu, d * narrow), (wd, columns * wide))):
        net.load(port, to, n * m, bursts)
    net.copy(x, (x0, x1), n * m)
    flops = 2 * rows * d * columns
    call = max(_up(in_bytes, bandwidth) + _up(weight_bytes, bandwidth), _up(flops, peak))
    each = max(1, _up(rows * columns, peak))
    net.accum((x0, wg), gate, n * m, 1, call)
    net.map((gate,), act, n * m, each)
    net.accum((x1, wu), up, n * m, 1, call)
    net.map((act, up), hidden, n * m, each)
    net.flatten(hidden, again, n * m)
    fold = max(_up(down_bytes, bandwidth), _up(flops, peak))
    net.accum((again, wd), out, m, n, fold, max(fold, _up(in_bytes, bandwidth)))
    net.store(4, out, m, rows * wide)
    return net


def _up(size: int, unit: int) -> int:
    return -(-size // unit)


@dataclass
class _Stream:
    channel: int
    tokens: int


def drawn(rng: Random) -> Build:
    """Return a network of up to a dozen units, with depths and a chip of its own; it may stop."""
    net = Build(_drawn_chip(rng))
    net.channels.clear()
    streams = [_start(net, rng) for _ in range(rng.randint(1, 3))]
    for _ in range(rng.randint(1, 8)):
        _grow(net, rng, streams)
    for stream in streams:
        if rng.random() < 0.25:
            net.store(len(net.units), stream.channel, stream.tokens, rng.choice((1, 3, 16)))
        else:
            net.sink(stream.channel, stream.tokens)
    if rng.random() < 0.2:
        net.dispatch[0] = rng.randint(1, 6)
    return net


def _channel(net: Build, rng: Random) -> int:
    return net.channel(f"c{len(net.channels)}", rng.choice((None, 1, 1, 2, 3, 5, 8)))


def _start(net: Build, rng: Random) -> _Stream:
    stream = _Stream(_channel(net, rng), rng.choice((4, 6, 12, 24)))
    if rng.random() < 0.5:
        net.load(len(net.units), stream.channel, stream.tokens, rng.choice((1, 2, 7, 16, 60)))
    else:
        net.source(stream.channel, stream.tokens, rng.choice((1, 1, 2, 5)))
    return stream


def _grow(net: Build, rng: Random, streams: list[_Stream]) -> None:
    stream = streams.pop(rng.randrange(len(streams)))
    of, count = stream.channel, stream.tokens
    to = _channel(net, rng)
    match rng.randrange(10):
        case 8 | 9:  # a fork that joins again, past a fold: it stops where the direct path is too shallow
            size = rng.choice([n for n in (1, 2, 3, 4, 6) if count % n == 0])
            folded, sums, repeated, direct = (_channel(net, rng) for _ in range(4))
            net.copy(of, (folded, direct), count)
            net.accum((folded,), sums, count // size, size, rng.randint(0, 4))
            net.repeat(sums, repeated, count // size, size)
            for _ in range(rng.randint(0, 2)):
                direct, before = _channel(net, rng), direct
                net.flatten(before, direct, count)
            net.map((direct, repeated), to, count, rng.randint(0, 4))
        case 0:
            other = _channel(net, rng)
            net.copy(of, (to, other), count)
            streams.append(_Stream(other, count))
        case 1:
            size = rng.choice([n for n in (1, 2, 3, 4, 6) if count % n == 0])
            net.accum((of,), to, count // size, size, rng.randint(0, 4), rng.randint(0, 6))
            count //= size
        case 2:
            n = rng.randint(1, 4) if count < 50 else 1
            net.repeat(of, to, count, n)
            count *= n
        case 3:
            size = rng.choice([n for n in (1, 2, 3, 4, 6) if count % n == 0])
            net.bufferize(of, to, count // size, size)
            count //= size
        case 4:
            net.flatten(of, to, count)
        case 5:
            cycles = [rng.randint(0, 5) for _ in range(count)]
            net.unit("Map", times(count, [*peek(of), *work_table(cycles), *enq(to), *take(of)]), (of,), (to,))
        case 6:
            counts = [rng.randint(0, 3) for _ in range(count)]
            net.unit("Repeat", times(count, [*peek(of), *times(counts, [*enq(to), *work(1)]), *take(of)]), (of,), (to,))
            count = sum(counts)
        case _:
            partners = [other for other in streams if other.tokens == count]
            if partners:
                streams.remove(partners[0])
                net.map((of, partners[0].channel), to, count, rng.randint(0, 4))
            else:
                net.map((of,), to, count, rng.randint(0, 6))
    streams.append(_Stream(to, count))


def _drawn_chip(rng: Random) -> Hardware:
    found = PRESETS["default"]
    fifo = replace(found.fifo, depth=rng.randint(1, 4), latency=rng.randint(1, 3), response=rng.randint(1, 2))
    memory = replace(
        found.memory,
        channels=rng.choice((1, 2, 3, 8)), latency=rng.randint(0, 3), interval=rng.randint(1, 3),
        startup=rng.randint(0, 14), outstanding=rng.choice((0, 0, 1, 2, 5)),
        interleave=rng.choice(("round_robin", "triangular")), dispatch=rng.randint(1, 5),
    )  # fmt: skip
    return replace(found, fifo=fifo, memory=memory)
