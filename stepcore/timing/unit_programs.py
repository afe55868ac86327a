"""The programs of units, row by row of the table of units of the timing chapter (generation 2's rows included).

Each function returns what a unit does in a whole run; whoever builds a network hands it to
:meth:`stepcore.timing.network.Network.unit`. Channels and ports are numbers of the network, times cycles.

What the data decide comes as one number for each token or chunk, in order of time (:data:`Amount`: one number stands
for all). Tokens are elements and *bare stops*, tokens without an element, which pass without work: where there are
some, :data:`Tokens` tells of each token whether it is an element. A list in a stream that is empty is one bare stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from stepcore.timing.bare_stops import gaps
from stepcore.timing.microcode import (
    Instruction,
    choose,
    decide,
    decide_among,
    enq,
    enq_all,
    next_or_done,
    peek,
    put,
    request,
    slot,
    take,
    times,
    until_done,
    work,
    work_table,
)

Amount: TypeAlias = int | Sequence[int]
Tokens: TypeAlias = int | Sequence[bool]
Branches: TypeAlias = Sequence[Sequence[int]]  # for each token of a selector the branches that it names, ascending
Body: TypeAlias = list[Instruction]

_PACE: Final = 1  # cycles between two elements that one token becomes, and between two of a chunk that is merged


# Functions ----------------------------------------------------------------------------------------------------------


def map_unit(reads: Sequence[int], out: int, tokens: Tokens, cycles: Amount) -> Body:
    """Map, Scan: a call takes ``cycles``, those of each token or of all elements."""
    return times(_count(tokens), [*peek(*reads), *_work(tokens, cycles), *enq(out), *take(*reads)])


def fold_unit(
    reads: Sequence[int], out: int, folds: int, size: Amount, cycles: Amount, last: Amount | None = None
) -> Body:
    """Accum: ``size`` tokens become one; ``cycles`` are those of each token, ``last`` those of the last of each fold.

    An empty fold is one bare stop, of 0 cycles: its result comes without work.
    """
    if isinstance(cycles, int):
        before: Amount = cycles
        end = cycles if last is None else last
    else:
        ends = [stop - 1 for stop in accumulate(_each(size, folds))]
        inside = set(range(len(cycles))).difference(ends)
        before = [cycles[place] for place in sorted(inside)]
        end = [cycles[place] for place in ends] if last is None else last
    call = [*peek(*reads), *_cycles(before), *take(*reads)]
    rest = size - 1 if isinstance(size, int) else [number - 1 for number in size]
    return times(folds, [*times(rest, call), *peek(*reads), *_cycles(end), *take(*reads), *enq(out)])


def flat_map_unit(reads: Sequence[int], out: int, tokens: Tokens, cycles: Amount, given: Amount) -> Body:
    """FlatMap: each token becomes ``given`` tokens, after the cycles of its call."""
    return times(_count(tokens), [*peek(*reads), *_work(tokens, cycles), *times(given, enq(out)), *take(*reads)])


# Shapes -------------------------------------------------------------------------------------------------------------


def hand_on(reads: Sequence[int], writes: Sequence[int], tokens: int) -> Body:
    """Flatten, Reshape, Promote, Identity, Zip on its own, Copy: nothing is taken before all have a token."""
    in_step = peek(*reads) if len(reads) > 1 else []
    return times(tokens, [*in_step, *take(*reads), *enq_all(writes)])


def pad_unit(read: int, writes: Sequence[int], lists: int, sizes: Amount, pads: Amount) -> Body:
    """Reshape with ``pad``: of each innermost list ``sizes`` tokens, then ``pads`` that fill it up, at once.

    An empty list is one bare stop, and is not filled.
    """
    given = enq_all(writes)
    return times(lists, [*times(sizes, [*take(read), *given]), *times(pads, given)])


def promote_ahead(read: int, out: int, tokens: int) -> Body:
    """Promote with ``b = R+1``: it has to know whether a token follows before it gives one."""
    return times(tokens, [*take(read), *next_or_done(read), *enq(out), *work(_PACE)])


def gather_unit(read: int, out: int, results: int, size: Amount) -> Body:
    """Bufferize, Retile: ``size`` tokens become one."""
    return times(results, [*times(size, take(read)), *enq(out)])


def repeat_unit(read: int, out: int, tokens: Tokens, counts: Amount, ref: int | None = None, reads: Amount = 1) -> Body:
    """Repeat, Streamify: each token becomes ``counts`` tokens, a cycle each; a bare stop, of tokens or counts, none.

    With ``ref`` a buffer is read ``reads`` times, each after a token of ``ref``; ``counts`` are then those of each
    reading. A count of 0 is a reading that gives one bare stop: an empty list.
    """
    if ref is not None:
        given = [*take(ref), *_copies(out, counts)]
        return times(_count(tokens), [*peek(read), *times(reads, given), *take(read)])
    if not isinstance(tokens, int) and isinstance(counts, int):
        counts = [counts if is_element else 0 for is_element in tokens]
    return times(_count(tokens), [*peek(read), *_copies(out, counts), *take(read)])


def _copies(out: int, counts: Amount) -> Body:
    given = [*enq(out), *work(_PACE)]
    if isinstance(counts, int):
        return times(counts, given) if counts else enq(out)
    if 0 not in counts:
        return times(counts, given)
    return [*times(counts, given), *times([int(not count) for count in counts], enq(out))]


def expand_unit(data: int, ref: int, out: int, tokens: int, refs: Amount) -> Body:
    """RepeatRef, Expand: each token of ``data`` is given for so many tokens of ``ref``, at once."""
    return times(tokens, [*peek(data), *times(refs, [*take(ref), *enq(out)]), *take(data)])


def unpack_unit(read: int, out: int, tokens: int, given: Amount) -> Body:
    """FlatMap of ``step.count``, RetileStreamify: each token becomes ``given`` tokens at once."""
    return times(tokens, [*take(read), *times(given, enq(out))])


# Routing ------------------------------------------------------------------------------------------------------------


def partition_unit(
    data: int, selector: int, outs: Sequence[int], rows: Branches, sizes: Amount, switch: Amount
) -> Body:
    """Partition: after a selector the chunk of so many tokens, each to the branches; ``switch`` are cycles of each."""
    kinds, which = _kinds(rows)
    moved = [[*take(data), *_cycles(switch), *(step for branch in row for step in enq(outs[branch]))] for row in kinds]
    if isinstance(sizes, int) and isinstance(switch, int):
        return times(len(rows), [*take(selector), *choose([times(sizes, body) for body in moved], which)])
    every = _each(sizes, len(rows))
    tokens = [kind for kind, size in zip(which, every, strict=True) for _ in range(size)]
    each = [[*(step for branch in row for step in enq(outs[branch]))] for row in kinds]
    token = [*take(data), *_cycles(switch), *choose(each, tokens)]
    return times(len(rows), [*take(selector), *times(every, token)])


def reassemble_unit(
    branches: Sequence[int],
    selector: int,
    out: int,
    rows: Branches,
    sizes: Sequence[Amount] | int = 1,
    *,
    by_arrival: bool = False,
) -> Body:
    """Reassemble: after a selector the chunks of the branches that it names, one after the other, at 0 cycles.

    In ascending order, or the one first whose head is visible first. ``sizes`` are tokens of chunks, by branch in the
    order of the branch. Where no branch is named, a bare stop comes out.
    """
    of = [sizes] * len(branches) if isinstance(sizes, int) else sizes
    chunks = [times(size, [*take(branch), *enq(out)]) for branch, size in zip(branches, of, strict=True)]
    if not by_arrival and all(isinstance(size, int) for size in of):
        kinds, which = _kinds(rows)
        bodies = [[step for branch in row for step in chunks[branch]] or enq(out) for row in kinds]
        return times(len(rows), [*take(selector), *choose(bodies, which)])
    if by_arrival:
        taken = decide_among(rows, branches, chunks)
    else:
        taken = times([len(row) for row in rows], choose(chunks, [branch for row in rows for branch in row]))
    none = [] if all(rows) else times([int(not row) for row in rows], enq(out))
    return times(len(rows), [*take(selector), *taken, *none])


def merge_unit(
    branches: Sequence[int], selector: int, out: int, rows: Branches, size: int, cycles: int, last: int
) -> Body:
    """Merge: chunks of ``size`` tokens of the branches that a selector names are folded, results come with the last.

    Where no branch is named the results are zeros, without work.
    """
    kinds, which = _kinds(rows)
    bodies: list[Body] = []
    for row in kinds:
        body = [step for k in row[:-1] for step in times(size, [*take(branches[k]), *work(cycles)])]
        end = [*take(branches[row[-1]]), *work(last), *enq(out)] if row else enq(out)
        bodies.append([*body, *times(size, end)])
    return times(len(rows), [*take(selector), *choose(bodies, which)])


def merge_lists_unit(
    branches: Sequence[int],
    selector: int,
    out: int,
    rows: Branches,
    chunks: Sequence[Sequence[Sequence[bool]]],
    zeros: Sequence[int],
    cycles: tuple[int, int],
) -> Body:
    """Merge of chunks that differ in length: ``chunks`` says of each branch, chunk by chunk, which tokens are elements.

    ``zeros`` are the tokens of each chunk of zeros, where no branch is named; ``cycles`` those of a call, and of the
    last one.
    """
    ways: list[list[list[Sequence[bool]]]] = [[[] for _ in branches] for _ in range(2)]  # before the last, the last
    left = [iter(each) for each in chunks]
    for row in rows:
        for place, branch in enumerate(row):
            ways[place + 1 == len(row)][branch].append(next(left[branch]))

    def body(is_last: bool, branch: int) -> Body:
        own = ways[is_last][branch]
        calls = [cycles[is_last] if is_element else 0 for chunk in own for is_element in chunk]
        token = [*take(branches[branch]), *work_table(calls), *(enq(out) if is_last else [])]
        return times([len(chunk) for chunk in own], token)

    before, end = ([body(is_last, branch) for branch in range(len(branches))] for is_last in (False, True))
    rest = iter(zeros)
    return times(
        len(rows),
        [
            *take(selector),
            *times([max(len(row) - 1, 0) for row in rows], choose(before, [k for row in rows for k in row[:-1]])),
            *times([int(bool(row)) for row in rows], choose(end, [row[-1] for row in rows if row])),
            *times([0 if row else next(rest) for row in rows], enq(out)),
        ],
    )


def eager_merge_unit(
    inputs: Sequence[int], out: int, selector: int, chunks: int | None, sizes: Sequence[Amount] | int = 1
) -> Body:
    """EagerMerge: ``chunks`` chunks, the one first whose head is visible first; None: as many as come.

    The selector is given before the chunk. ``sizes`` are tokens of chunks, by input in the order of the input.
    """
    of = [sizes] * len(inputs) if isinstance(sizes, int) else sizes
    bodies = [[*enq(selector), *_paced(channel, out, size)] for channel, size in zip(inputs, of, strict=True)]
    return until_done(inputs, bodies) if chunks is None else times(chunks, decide(inputs, bodies))


def _paced(read: int, out: int, size: Amount) -> Body:
    """Hand on so many tokens, a cycle from one to the next."""
    token = [*take(read), *enq(out)]
    rest = size - 1 if isinstance(size, int) else [number - 1 for number in size]
    return [*token, *times(rest, [*work(_PACE), *token])]


def parallelize_unit(
    read: int, lanes: Sequence[int], selector: int, chunks: int, sizes: Amount = 1, *, switch: int
) -> Body:
    """Parallelize in turn: chunk ``j``, of ``sizes`` tokens, goes to lane ``j mod N``, like a Partition.

    The selector is given before the chunk.
    """
    given = [[*take(read), *work(switch), *enq(lane)] for lane in lanes]
    if isinstance(sizes, int):
        bodies = [[*peek(read), *enq(selector), *times(sizes, token)] for token in given]
    else:
        count = len(lanes)
        bodies = [[*peek(read), *enq(selector), *times(sizes[k::count], token)] for k, token in enumerate(given)]
    return times(chunks, choose(bodies, [chunk % len(lanes) for chunk in range(chunks)]))


def parallelize_free_unit(read: int, lanes: Sequence[int], selector: int, chunks: int, sizes: Amount = 1) -> Body:
    """Parallelize with ``policy="free"``: each chunk, of ``sizes`` tokens, goes to the lane that has room first.

    A lane is a channel whose latency is ``unit.switch + fifo.latency``: tokens switch on their way, the unit goes on.
    The selector is given as soon as the lane has room.
    """

    def moved(lane: int, size: int) -> Body:
        return [*enq(selector), *times(size, [*peek(read), *slot(lane), *take(read), *put(lane)])]

    kinds, which = _kinds([(size,) for size in _each(sizes, chunks)])
    decided = [decide(lanes, [moved(lane, size) for lane in lanes], by_slot=True) for (size,) in kinds]
    return times(chunks, [*peek(read), *choose(decided, which)])


# Memory -------------------------------------------------------------------------------------------------------------


def load_unit(port: int, out: int, tiles: int, bursts: int, ref: int | None = None, tokens: Tokens = 1) -> Body:
    """LinearOffChipLoad: ``tiles`` tiles of so many bursts, with ``ref`` for each of its ``tokens``.

    RandomOffChipLoad: one tile for each address, which are the ``tokens`` of ``ref``.
    """
    tile = [*request(port, bursts), *enq(out)]
    if ref is None:
        return times(tiles, tile)
    return passing(tokens, [*take(ref), *times(tiles, tile)], [*take(ref), *enq(out)])


def store_unit(port: int, read: int, tokens: Tokens, bursts: int) -> Body:
    """LinearOffChipStore: a tile is looked at, written, and taken."""
    return passing(tokens, [*peek(read), *request(port, bursts), *take(read)], take(read))


def random_store_unit(
    port: int, addresses: tuple[int, Tokens], tiles: tuple[int, Tokens], written: int, bursts: int
) -> Body:
    """RandomOffChipStore: an address and a tile are looked at, the tile is written, acknowledged, and both are taken.

    ``addresses`` and ``tiles`` are channels with their tokens: as many elements, whatever their bare stops. Those of
    addresses are given on.
    """
    (address, asked), (tile, held) = addresses, tiles
    moved = [*peek(address, tile), *request(port, bursts), *enq(written), *take(address, tile)]
    if isinstance(asked, int) and isinstance(held, int):
        return times(asked, moved)
    asked, held = ([True] * each if isinstance(each, int) else each for each in (asked, held))
    *before, behind = gaps(held)
    with_tile = [*times(before, take(tile)), *moved]
    return [*passing(asked, with_tile, [*take(address), *enq(written)]), *times(behind, take(tile))]


# What the data decide -----------------------------------------------------------------------------------------------


def passing(tokens: Tokens, element: Body, bare: Body) -> Body:
    """Do ``element`` for each element, and ``bare`` for each bare stop."""
    if isinstance(tokens, int) or all(tokens):
        return times(_count(tokens), element)
    return times(len(tokens), choose([element, bare], [int(not is_element) for is_element in tokens]))


def _count(tokens: Tokens) -> int:
    return tokens if isinstance(tokens, int) else len(tokens)


def _each(amount: Amount, count: int) -> list[int]:
    return [amount] * count if isinstance(amount, int) else list(amount)


def _cycles(amount: Amount) -> Body:
    return work(amount) if isinstance(amount, int) else work_table(amount)


def _work(tokens: Tokens, cycles: Amount) -> Body:
    """Work on elements; bare stops pass."""
    if isinstance(tokens, int) or not isinstance(cycles, int) or all(tokens):
        return _cycles(cycles)
    return work_table([cycles if is_element else 0 for is_element in tokens])


def _kinds(rows: Branches) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the different rows, and which of them each is."""
    number: dict[tuple[int, ...], int] = {}
    which = [number.setdefault(tuple(row), len(number)) for row in rows]
    return list(number), which
