"""Networks of units for tests: those of the timing chapter's small cases, and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from stepcore.timing import unit_programs
from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.microcode import choose, enq, enq_all, peek, request, take, times, until_done, work, work_table
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

    def lane(self, name: str, depth: int | None = None) -> int:
        """A channel from Parallelize: its unit goes on while the token is on its way."""
        fifo, unit = self.hardware.fifo, self.hardware.unit
        return self.channel(name, depth, latency=fifo.latency + unit.switch)

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


def diamond(direct: int, *, behind: bool = False, rows: int = 3, size: int = 6) -> Build:
    """Micro-case 4: ``[size, rows]``, Copy -> {Accum(b=1) -> Repeat(size), direct} -> Map; other FIFOs hold 1."""
    net, count = Build(chip(1)), size * rows
    start, folded, sums, repeated, out = (net.channel(name) for name in ("x", "folded", "sums", "repeated", "out"))
    beside = net.channel("direct", direct)
    net.source(start, count)
    net.copy(start, (folded, beside), count)
    net.accum((folded,), sums, rows, size, 1)
    net.repeat(sums, repeated, rows, size)
    joined = beside
    if behind:
        joined = net.channel("behind", 1)
        net.flatten(beside, joined, count)
    net.map((joined, repeated), out, count, 1)
    net.sink(out, count)
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
    net = Build(drawn_chip(rng))
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


def drawn_arrival(rng: Random) -> Build:
    """Return a network in which arrival decides, and data decide lengths; it may stop."""
    net = Build(drawn_chip(rng))
    net.channels.clear()
    streams = [_start(net, rng) for _ in range(rng.randint(2, 4))]
    for _ in range(rng.randint(1, 6)):
        grow = rng.choice((_grow, _grow_merged, _grow_lanes, _grow_gathered, _grow_ragged, _grow_back))
        grow(net, rng, streams)
    for stream in streams:
        net.sink(stream.channel, stream.tokens)
    return net


def _chunks(rng: Random, tokens: int) -> list[int]:
    """Return sizes of chunks that come to so many tokens."""
    found: list[int] = []
    while tokens:
        found.append(rng.randint(1, min(tokens, 3)))
        tokens -= found[-1]
    return found


def _grow_merged(net: Build, rng: Random, streams: list[_Stream]) -> None:
    """EagerMerge of some streams, chunk by chunk."""
    rng.shuffle(streams)
    several = [streams.pop() for _ in range(min(len(streams), rng.randint(1, 3)))]
    out, selector = _channel(net, rng), _channel(net, rng)
    inputs, sizes = [each.channel for each in several], [_chunks(rng, each.tokens) for each in several]
    total = sum(map(len, sizes))
    body = unit_programs.eager_merge_unit(inputs, out, selector, rng.choice((total, None)), sizes)
    net.unit("EagerMerge", body, inputs, (out, selector))
    streams += [_Stream(out, sum(each.tokens for each in several)), _Stream(selector, total)]


def _grow_lanes(net: Build, rng: Random, streams: list[_Stream]) -> None:
    """Parallelize, a Map in each lane that does not know how much it gets, EagerMerge."""
    stream = streams.pop(rng.randrange(len(streams)))
    sizes = _chunks(rng, stream.tokens)
    ways, out, which = (_channel(net, rng) for _ in range(3))
    count, free = rng.randint(1, 3), rng.random() < 0.6
    lanes = [net.lane("lane", rng.choice((None, 1, 2))) if free else _channel(net, rng) for _ in range(count)]
    if free:
        body = unit_programs.parallelize_free_unit(stream.channel, lanes, ways, len(sizes), sizes)
    else:
        switch = rng.randint(0, 2)
        body = unit_programs.parallelize_unit(stream.channel, lanes, ways, len(sizes), sizes, switch=switch)
    net.unit("Parallelize", body, (stream.channel,), (*lanes, ways))
    done = [_channel(net, rng) for _ in lanes]
    for lane, result in zip(lanes, done, strict=True):
        call = [*peek(lane), *work(rng.randint(0, 9)), *enq(result), *take(lane)]
        net.unit("Map", until_done((lane,), [call]), (lane,), (result,))
    chunks = rng.choice((stream.tokens, None))
    net.unit("EagerMerge", unit_programs.eager_merge_unit(done, out, which, chunks), done, (out, which))
    streams += [_Stream(out, stream.tokens), _Stream(ways, len(sizes)), _Stream(which, stream.tokens)]


def _grow_gathered(net: Build, rng: Random, streams: list[_Stream]) -> None:
    """Partition, a Map in each branch, Reassemble in order of arrival, or of branches, by a copy of the selector."""
    stream = streams.pop(rng.randrange(len(streams)))
    sizes, count = _chunks(rng, stream.tokens), rng.randint(1, 3)
    rows = [tuple(k for k in range(count) if rng.random() < 0.6) for _ in sizes]
    source, first, second, out = (_channel(net, rng) for _ in range(4))
    net.source(source, len(sizes), rng.choice((1, 2)))
    net.copy(source, (first, second), len(sizes))
    branches, done = [_channel(net, rng) for _ in range(count)], [_channel(net, rng) for _ in range(count)]
    switch = [rng.randint(0, 1) for _ in range(stream.tokens)] if rng.random() < 0.5 else 1
    body = unit_programs.partition_unit(stream.channel, first, branches, rows, sizes, switch)
    net.unit("Partition", body, (stream.channel, first), branches)
    of = [[size for size, row in zip(sizes, rows, strict=True) if k in row] for k in range(count)]
    for k, (branch, result) in enumerate(zip(branches, done, strict=True)):
        tokens = [rng.random() < 0.8 for _ in range(sum(of[k]))]
        body = unit_programs.map_unit((branch,), result, tokens, rng.randint(0, 6))
        net.unit("Map", body, (branch,), (result,))
    arrival = rng.random() < 0.7
    body = unit_programs.reassemble_unit(done, second, out, rows, of, by_arrival=arrival)
    net.unit("Reassemble", body, (*done, second), (out,))
    streams.append(_Stream(out, sum(map(sum, of)) + sum(not row for row in rows)))


def _grow_ragged(net: Build, rng: Random, streams: list[_Stream]) -> None:
    """A unit of which the data decide how much it takes or gives for each token."""
    stream = streams.pop(rng.randrange(len(streams)))
    of, count, to = stream.channel, stream.tokens, _channel(net, rng)
    tokens = [rng.random() < 0.8 for _ in range(count)]
    given = [rng.randint(1, 3) if count < 60 else 1 for _ in range(count)]
    match rng.randrange(8):
        case 0:
            sizes = _chunks(rng, count)
            cycles = [rng.randint(0, 4) * is_element for is_element in tokens]
            body = unit_programs.fold_unit((of,), to, len(sizes), sizes, cycles)
            count = len(sizes)
        case 1:
            body = unit_programs.flat_map_unit((of,), to, tokens, rng.randint(0, 4), given)
            count = sum(given)
        case 2:
            sizes = _chunks(rng, count)
            pads = [rng.randint(0, 2) for _ in sizes]
            other = _channel(net, rng)
            body = unit_programs.pad_unit(of, (to, other), len(sizes), sizes, pads)
            count = sum(sizes) + sum(pads)
            net.unit("Reshape", body, (of,), (to, other))
            streams += [_Stream(to, count), _Stream(other, count)]
            return
        case 3:
            counts = [number - 1 for number in given]
            body = unit_programs.repeat_unit(of, to, count, counts)
            count = sum(max(number, 1) for number in counts)
        case 4:
            ref = _channel(net, rng)
            net.source(ref, sum(given), rng.randint(1, 3))
            body = unit_programs.expand_unit(of, ref, to, count, given)
            if rng.random() < 0.5:
                body = unit_programs.repeat_unit(of, to, count, 1, ref, given)
            net.unit("Expand", body, (of, ref), (to,))
            streams.append(_Stream(to, sum(given)))
            return
        case 5:
            body = unit_programs.unpack_unit(of, to, count, given)
            count = sum(given)
        case 6:
            body = unit_programs.load_unit(len(net.units), to, 1, rng.randint(1, 20), of, tokens)
        case _:
            addresses, elements = _channel(net, rng), sum(tokens)
            asked = [True] * elements + [False] * rng.randint(0, 3)
            rng.shuffle(asked)
            net.source(addresses, len(asked))
            body = unit_programs.random_store_unit(
                len(net.units), (addresses, asked), (of, tokens), to, rng.randint(1, 20)
            )
            net.unit("RandomOffChipStore", body, (addresses, of), (to,))
            streams.append(_Stream(to, len(asked)))
            return
    net.unit("ragged", body, (of,), (to,))
    streams.append(_Stream(to, count))


def _grow_back(net: Build, rng: Random, streams: list[_Stream]) -> None:
    """Feedback: half of what is merged goes back to be merged again."""
    stream = streams.pop(rng.randrange(len(streams)))
    merged, which, back, out, worked = (_channel(net, rng) for _ in range(5))
    count = stream.tokens
    inputs = (stream.channel, back)
    net.unit("EagerMerge", unit_programs.eager_merge_unit(inputs, merged, which, 2 * count), inputs, (merged, which))
    net.map((merged,), worked, 2 * count, rng.randint(0, 3))
    ways = [0, 1] * count if rng.random() < 0.7 else rng.sample([0, 1] * count, 2 * count)
    given = [enq(back), enq(out)]
    net.unit("Partition", times(2 * count, [*take(worked), *choose(given, ways)]), (worked,), (back, out))
    streams += [_Stream(out, count), _Stream(which, 2 * count)]


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


def drawn_loads(rng: Random) -> Build:
    """Return loads of tiles of different sizes that a tree of Maps joins, folded and stored: often one runs ahead."""
    net = Build(drawn_chip(rng))
    folds, size, loads = rng.randint(40, 120), rng.choice((1, 2, 3)), rng.randint(2, 4)
    joined = [_channel(net, rng) for _ in range(loads)]
    for port, channel in enumerate(joined):
        net.load(port, channel, folds * size, rng.randint(1, 60))
    while len(joined) > 1:
        pair = joined.pop(rng.randrange(len(joined))), joined.pop(rng.randrange(len(joined)))
        joined.append(_channel(net, rng))
        net.map(pair, joined[-1], folds * size, rng.randint(0, 30))
    out = _channel(net, rng)
    net.accum(joined, out, folds, size, rng.randint(0, 20), rng.randint(0, 20))
    net.store(loads, out, folds, rng.randint(1, 40))
    return net


def drawn_chip(rng: Random) -> Hardware:
    """Return a chip with FIFOs and a memory of its own."""
    found = PRESETS["default"]
    fifo = replace(found.fifo, depth=rng.randint(1, 4), latency=rng.randint(1, 3), response=rng.randint(1, 2))
    memory = replace(
        found.memory,
        channels=rng.choice((1, 2, 3, 8)), latency=rng.randint(0, 3), interval=rng.randint(1, 3),
        startup=rng.randint(0, 14), outstanding=rng.choice((0, 0, 1, 2, 5)),
        interleave=rng.choice(("round_robin", "triangular")), dispatch=rng.randint(1, 5),
    )  # fmt: skip
    return replace(found, fifo=fifo, memory=memory)
