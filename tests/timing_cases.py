"""What the timing chapter gives cycles for: the published points of the validation graph, and its small cases."""

from __future__ import annotations

from stepcore.timing.microcode import choose, enq, take, times, work
from timing_networks import Build, chip, diamond

# Tile rows and columns -> published cycles, and what our rules give more (the timing chapter says both).
PUBLISHED = {
    (16, 16): (33289, 3), (16, 32): (29401, 0), (16, 64): (27502, 0), (16, 128): (26991, -1), (16, 256): (27503, -1),
    (32, 16): (21224, -1), (32, 32): (17098, 2), (32, 64): (15288, 1), (32, 128): (14767, -1), (32, 256): (15292, 0),
    (64, 16): (15218, -1), (64, 32): (11186, -1), (64, 64): (9538, -2), (64, 128): (9275, 1), (64, 256): (11061, -1),
}  # fmt: skip


def one_map(depth: int, cycles: int, count: int = 10) -> Build:
    net = Build(chip(depth))
    a, b = net.channel("a"), net.channel("b")
    net.source(a, count)
    net.map((a,), b, count, cycles)
    net.sink(b, count)
    return net


def three_flattens(depth: int) -> Build:
    net = Build(chip(depth))
    row = [net.channel(str(k)) for k in range(4)]
    net.source(row[0], 10)
    for k in range(3):
        net.flatten(row[k], row[k + 1], 10)
    net.sink(row[3], 10)
    return net


def folded(depth: int) -> Build:
    net = Build(chip(depth))
    a, b = net.channel("a"), net.channel("b")
    net.source(a, 20)
    net.accum((a,), b, 4, 5, 2)
    net.sink(b, 4)
    return net


def buffered(depth: int) -> Build:
    net = Build(chip(depth))
    a, b, c = (net.channel(name) for name in "abc")
    net.source(a, 12)
    net.bufferize(a, b, 3, 4)
    net.repeat(b, c, 3, 8)
    net.sink(c, 24)
    return net


def load_and_store(bursts: int, tiles: int, interleave: str) -> Build:
    net = Build(chip(preset="validation", interleave=interleave))
    a = net.channel("a")
    net.load(0, a, tiles, bursts)
    net.store(1, a, tiles, bursts)
    return net


def two_loads(tiles: int, interleave: str) -> Build:
    net = Build(chip(preset="validation", interleave=interleave))
    a, b, c = (net.channel(name) for name in "abc")
    net.load(0, a, tiles, 64)
    net.load(1, b, tiles, 64)
    net.map((a, b), c, tiles, 10)
    net.sink(c, tiles)
    return net


def routed(depth: int, rows: tuple[int, ...] = (0, 0, 1, 0, 1, 1)) -> Build:
    """Micro-case 10: Partition, a Map of 3 and one of 5 cycles, Reassemble by a copy of the selector."""
    net, count = Build(chip(depth)), len(rows)
    data, selector, first, second, whole = (net.channel(name) for name in ("x", "s", "s0", "s1", "out"))
    branches, mapped = ([net.channel(f"{name}{k}") for k in range(2)] for name in "bm")
    net.source(data, count)
    net.source(selector, count)
    net.copy(selector, (first, second), count)
    given = [[*take(data), *work(1), *enq(branch)] for branch in branches]
    net.unit("Partition", times(count, [*take(first), *choose(given, rows)]), (data, first), branches)
    for k, cycles in enumerate((3, 5)):
        net.map((branches[k],), mapped[k], rows.count(k), cycles)
    taken = [[*take(branch), *enq(whole)] for branch in mapped]
    net.unit("Reassemble", times(count, [*take(second), *choose(taken, rows)]), (*mapped, second), (whole,))
    net.sink(whole, count)
    return net


TRIANGLE, ROBIN = "triangular", "round_robin"
SMALL = {
    "1: L=3 d=1": (one_map(1, 3), 50), "1: L=3 d=2": (one_map(2, 3), 32), "1: L=1 d=1": (one_map(1, 1), 30),
    "1: L=1 d=2": (one_map(2, 1), 16), "1: L=1 d=3": (one_map(3, 1), 12),
    "2: d=1": (three_flattens(1), 22), "2: d=2": (three_flattens(2), 13),
    "3: d=1": (folded(1), 80), "3: d=2": (folded(2), 42),
    "4: 6": (diamond(6), 79), "4: 7": (diamond(7), 73), "4: 9": (diamond(9), 73),
    "4: behind 4": (diamond(4, behind=True), 81), "4: behind 5": (diamond(5, behind=True), 75),
    "5: d=1": (buffered(1), 57), "5: d=2": (buffered(2), 29),
    "6: 1": (load_and_store(1, 1, TRIANGLE), 41), "6: 1 r": (load_and_store(1, 1, ROBIN), 41),
    "6: 16": (load_and_store(16, 1, TRIANGLE), 49), "6: 16 r": (load_and_store(16, 1, ROBIN), 47),
    "6: 64": (load_and_store(64, 1, TRIANGLE), 73), "6: 64 r": (load_and_store(64, 1, ROBIN), 71),
    "6: 4x64": (load_and_store(64, 4, TRIANGLE), 232), "6: 4x64 r": (load_and_store(64, 4, ROBIN), 227),
    "10: d=1": (routed(1), 36), "10: d=2": (routed(2), 27),
    "7: one": (two_loads(1, TRIANGLE), 62), "7: one r": (two_loads(1, ROBIN), 62),
    "7: eight": (two_loads(8, TRIANGLE), 412), "7: eight r": (two_loads(8, ROBIN), 412),
}  # fmt: skip
