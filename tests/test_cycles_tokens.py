"""Streams whose lists differ in length, as tokens, and the units that take them: as many tokens come as there are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from stepcore.cycles.ragged_units import RaggedStream, padded_body, ragged_body
from stepcore.cycles.tokens import SizeLevel, StreamTokens, handed_on, tokens_of
from stepcore.ops.pace import Pace, Read
from timing_networks import Build, drawn_chip
from timing_programs import assert_literal

TAKEN, SPREAD, REPEATED = (Read.TAKEN,), (Read.SPREAD,), (Read.REPEATED,)
MAP, COPY = Pace((Read.KEPT,), applies=True), Pace(TAKEN)
ACCUM, BUFFERIZE = Pace((Read.KEPT,), folds=True, applies=True), Pace(TAKEN, folds=True)


def nested(rng: Random, dims: int) -> Any:
    """Return lists in lists, some of which are empty; the outermost is not."""
    if not dims:
        return "x"
    return [nested(rng, dims - 1) for _ in range(rng.choice((0, 1, 1, 2, 3)))]


def stream(rng: Random, dims: int) -> list[Any]:
    return [nested(rng, dims - 1) for _ in range(rng.randint(1, 4))]


def levels(value: Any, dims: int) -> list[SizeLevel]:
    """Return the levels of nested lists, innermost first."""
    found: list[SizeLevel] = []
    positions = [value]
    for _ in range(dims):
        found.append([len(each) for each in positions])
        positions = [inner for each in positions for inner in each]
    return found[::-1]


def tokens(value: Any, dims: int) -> StreamTokens:
    return tokens_of(levels(value, dims))


def leaves(value: Any, dims: int) -> list[Any]:
    """Return what stands on the wire: elements, and [] for each empty list."""
    if not dims or not value:
        return [value]
    return [leaf for inner in value for leaf in leaves(inner, dims - 1)]


@pytest.mark.parametrize("seed", range(60))
def test_tokens_are_the_leaves_of_nested_lists(seed: int) -> None:
    rng = Random(seed)
    dims = rng.randint(1, 4)
    value = stream(rng, dims)
    found = tokens(value, dims)
    assert found.elements == [leaf == "x" for leaf in leaves(value, dims)]
    for depth in range(dims):
        assert len(found.groups(depth)) == len(leaves(cut(value, dims - depth), dims - depth))
    assert sum(found.groups(1)) == len(found.ends)


def cut(value: Any, dims: int) -> Any:
    """Return lists in which what lies inside of the outermost ``dims`` dimensions is one element."""
    return [cut(inner, dims - 1) for inner in value] if dims else "x"


def test_levels_of_the_page() -> None:
    assert tokens_of([[2, 0, 1], 3]) == ([0, 1, 1, 2], [True, True, False, True])
    assert tokens_of([[], [0, 0], 2]) == ([2, 3], [False, False])
    assert tokens_of([[], 0]) == ([], [])
    assert tokens_of([2, 2]) == ([0, 1, 0, 2], [True] * 4)
    with pytest.raises(ValueError, match="2 lengths for 3 lists"):
        tokens_of([[1, 1], 3])


@pytest.mark.parametrize("seed", range(60))
def test_what_joins_lists_gives_the_tokens_of_the_joined_ones(seed: int) -> None:
    rng = Random(seed)
    value = stream(rng, 3)
    joined = [[leaf for inner in row for leaf in inner] for row in value]
    before, after = tokens(value, 3), tokens(joined, 2)
    given = handed_on(before, after)
    assert sum(given) == len(after.ends)
    assert [
        number for number, is_element in zip(given, before.elements, strict=True) if is_element and not number
    ] == []


def cases(rng: Random) -> tuple[Pace | None, list[tuple[Any, int]], list[tuple[Any, int]], tuple[int, ...]]:
    """Return a pace, nested lists that a unit reads and writes with their dimensions, and its rounds.

    Without a pace it is a unit that fills up lists.
    """
    value = stream(rng, 3)
    whole = (value, 3)
    match rng.randrange(10):
        case 0:
            return MAP, [whole, whole], [whole], ()
        case 1:
            return COPY, [whole], [whole, whole], ()
        case 2:
            b = rng.choice((1, 2))
            return rng.choice((ACCUM, BUFFERIZE)), [whole], [(cut(value, 3 - b), 3 - b)], ()
        case 3:  # Repeat, Streamify
            return Pace(REPEATED), [(cut(value, 2), 2)], [whole], (1,)
        case 4:  # Streamify with a reference
            pace = Pace((Read.REPEATED, Read.SPREAD))
            return pace, [(cut(value, 1), 1), (cut(value, 2), 2)], [whole], (2, 1)
        case 5:  # Expand
            one = [[["x"] for _ in row] for row in value]
            return Pace((Read.REPEATED, Read.TAKEN)), [(one, 3), whole], [whole], (1,)
        case 6:  # RetileStreamify
            times = rng.randint(1, 3)
            return Pace(SPREAD), [whole], [([[inner * times for inner in row] for row in value], 3)], (1,)
        case 9:  # FlatMap, of lists of lists that are alike
            lists = [[[["x"] * 2] * (3 * len(inner)) for inner in row] for row in value]
            return Pace(REPEATED, applies=True), [whole], [(lists, 4)], (2,)
        case 7:  # Flatten
            return COPY, [whole], [([[leaf for inner in row for leaf in inner] for row in value], 2)], ()
        case _:  # Reshape with padding
            size = rng.randint(1, 3)
            padded = [[[["x"] * size] * -(-len(inner) // size) for inner in row] for row in value]
            return None, [whole], [(padded, 4)] * 2, ()


@pytest.mark.parametrize("seed", range(200))
def test_units_take_and_give_as_many_tokens_as_there_are(seed: int) -> None:
    rng = Random(seed)
    net = Build(drawn_chip(rng))
    pace, reads, writes, rounds = cases(rng)
    ins, outs = (
        [RaggedStream(net.channel(str(k)), dims, tokens(value, dims)) for k, (value, dims) in enumerate(row)]
        for row in (reads, writes)
    )
    for each in ins:
        net.source(each.channel, len(each.tokens.ends), rng.randint(1, 2))
    if pace is None:
        body = padded_body(ins[0], outs)
    else:
        body = ragged_body(pace, ins, outs, (rng.randint(0, 3), rng.randint(3, 5)), rounds)
    net.unit("unit", body, [each.channel for each in ins], [each.channel for each in outs])
    for each in outs:
        net.sink(each.channel, len(each.tokens.ends))
    timing = assert_literal(net)
    assert timing.waiting == ()
    for each in (*ins, *outs):
        assert timing.channels[each.channel].taken == len(each.tokens.ends)


def test_bare_stops_pass_without_work() -> None:
    """Lists of 2, 0 and 1 elements: three calls of a Map, and of a fold, whose last call of each takes longer."""
    before: list[SizeLevel] = [[2, 0, 1], 3]
    folded: list[SizeLevel] = [3]
    for pace, out, worked in ((MAP, before, 3 * 7), (ACCUM, folded, 4 + 7 + 7)):
        net = Build(drawn_chip(Random(0)))
        read, written = net.channel("a"), net.channel("b")
        net.source(read, 4)
        streams = RaggedStream(read, 2, tokens_of(before)), RaggedStream(written, len(out), tokens_of(out))
        net.unit("unit", ragged_body(pace, streams[:1], streams[1:], (4, 7)), (read,), (written,))
        net.sink(written, len(streams[1].tokens.ends))
        assert assert_literal(net).units[1].worked == worked
