"""Units that only hand on do so in one go, or when a token or a slot is there, and give what they give in turn."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from stepcore.timing import rows
from stepcore.timing.exact import Timing, run
from stepcore.timing.instructions import Code
from stepcore.timing.microcode import Instruction, enq, peek, take, times, work, work_table
from timing_networks import Build, chip, drawn_chip
from timing_programs import assert_literal


@pytest.fixture(autouse=True)
def no_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_TOKENS", 1 << 60)


def _rounds(rng: Random, tokens: int, body: list[Instruction]) -> list[Instruction]:
    """Return loops of random lengths, known or from a row of numbers, that run ``body`` so often in all."""
    sizes = []
    while tokens:
        sizes.append(rng.randint(1, min(tokens, 400)))
        tokens -= sizes[-1]
    if rng.random() < 0.3:
        return times(len(sizes), times(sizes, body))
    return [each for size in sizes for each in (*times(size, body), *work(rng.randint(0, 2)))]


def handing_on(rng: Random) -> Build:
    """Return a chain of units in loops of one ``enq`` or ``take``, with FIFOs, paces and chunks of all kinds."""
    net = Build(drawn_chip(rng))
    net.channels.clear()
    first, second, beside, third = (
        net.channel(name, rng.choice((1, 2, 3, 900)), latency=rng.randint(0, 3), response=rng.randint(0, 3))
        for name in ("first", "second", "beside", "third")
    )
    tokens, chunk = rng.randint(1, 900), rng.randint(1, 40)
    folds = -(-tokens // chunk)
    net.unit("source", _rounds(rng, folds * chunk, [*enq(first), *work(rng.randint(0, 3))]), (), (first,))
    call = [*peek(first), *work(rng.randint(0, 3)), *take(first), *work(rng.randint(0, 1)), *work(rng.randint(0, 3))]
    each = [*enq(second), *work(rng.randint(0, 2))]
    net.unit("Fold", times(folds, [*times(chunk, call), *times(3, each)]), (first,), (second,))
    net.unit("source", _rounds(rng, 3 * folds, [*enq(beside), *work(rng.randint(0, 3))]), (), (beside,))
    net.map((second, beside), third, 3 * folds, rng.randint(0, 3))
    net.unit("sink", _rounds(rng, 3 * folds, [*take(third), *work(rng.randint(0, 4))]), (third,))
    return net


def _in_turn(network: Build, monkeypatch: pytest.MonkeyPatch) -> Timing:
    with monkeypatch.context() as patch:
        patch.setattr(Code, "_hands_on", lambda _self, _start: False)
        return run(network)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_handed_on_in_one_go(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = handing_on(Random(seed))
    together = assert_literal(network)
    assert replace(together, instructions=0) == replace(_in_turn(network, monkeypatch), instructions=0)


def test_it_takes_fewer_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Build(chip(2))
    x = net.channel("x")
    net.source(x, 10_000)
    net.sink(x, 10_000)
    assert 2 * run(net).instructions < _in_turn(net, monkeypatch).instructions
    mapped = Build(chip(2))
    x, y = mapped.channel("x"), mapped.channel("y")
    mapped.source(x, 10_000)
    mapped.map((x,), y, 10_000, 2)
    mapped.sink(y, 10_000)
    assert 1.3 * run(mapped).instructions < _in_turn(mapped, monkeypatch).instructions


def test_loops_of_one_instruction() -> None:
    code = Code.empty()
    code.add([*times(3, [*enq(0), *work(2), *work(5)]), *times(3, [*peek(1), *work(4), *take(1)])])
    code.add([*times(3, [*take(0), *work(2), *work(5)]), *times(3, [*take(0), *enq(1)]), *take(0)])
    code.add(times(3, [*take(0), *work_table([1, 2, 3])]))
    assert [pause for pause in code.alone if pause >= 0] == [0, 0, 7]
