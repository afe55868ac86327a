"""What a recorder keeps of a run: the sums of the run, in order, whatever was skipped or joined."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from stepcore.timing import recorder as recording
from stepcore.timing.exact import Timing, run
from stepcore.timing.network import Network
from stepcore.timing.recorder import KINDS, RunRecorder
from timing_networks import diamond, drawn, swiglu


def recorded(network: Network, record: RunRecorder | None = None) -> tuple[Timing, RunRecorder]:
    record = RunRecorder() if record is None else record
    timing = run(network, recorder=record)
    # Memory is followed burst by burst where nobody looks at its windows: the same, in other steps.
    assert replace(timing, instructions=0) == replace(run(network), instructions=0), "a record changes nothing"
    return timing, record


def holds_the_sums(timing: Timing, record: RunRecorder) -> None:
    for unit, row in zip(timing.units, record.spans, strict=True):
        sums = dict.fromkeys(KINDS, 0)
        for kind, cycles in row:
            assert cycles > 0
            sums[kind] += cycles
        assert sums == {"work": unit.worked, "starved": unit.starved, "blocked": unit.blocked, "memory": unit.memory}
        assert sum(sums.values()) == unit.clock
    for channel, put, taken in zip(timing.channels, record.put, record.taken, strict=True):
        assert [sum(tokens for tokens, _ in row) for row in (put, taken)] == [channel.put, channel.taken]
        for passes in (put, taken):
            times = [cycle for _, cycle in passes]
            assert times == sorted(times)
            assert not times or times[-1] <= timing.cycles
    assert sum(bursts for _, _, bursts in record.windows) == timing.bursts


def fills(record: RunRecorder, channel: int) -> int:
    """Return the most tokens that were in a channel at the end of a cycle."""
    moves = [(cycle, tokens) for tokens, cycle in record.put[channel]]
    moves += [(cycle, -tokens) for tokens, cycle in record.taken[channel]]
    now = most = 0
    for cycle in sorted({cycle for cycle, _ in moves}):
        now += sum(tokens for at, tokens in moves if at == cycle)
        most = max(most, now)
    return most


@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed: int) -> None:
    timing, record = recorded(drawn(Random(seed)))
    holds_the_sums(timing, record)
    for channel, use in enumerate(timing.channels):
        assert fills(record, channel) == use.fill


def test_a_stretch_that_drifts_is_joined() -> None:
    timing, record = recorded(swiglu(64, 64, b=8192))
    assert timing.skipped
    holds_the_sums(timing, record)


def test_skipped_periods_are_repeated() -> None:
    timing, record = recorded(diamond(6, rows=400))
    assert timing.skipped
    holds_the_sums(timing, record)
    assert record.joined == 0
    assert record.spans[0][:6] == recorded(diamond(6, rows=3))[1].spans[0][:6]
    timing, record = recorded(swiglu(16, 64, b=1024))
    assert timing.skipped
    holds_the_sums(timing, record)


def test_what_is_much_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    timing, record = recorded(diamond(6, rows=1_000_000))
    holds_the_sums(timing, record)
    assert record.joined
    assert sum(map(len, record.spans)) <= recording.MOST_SPANS
    assert sum(map(len, (*record.put, *record.taken))) <= recording.MOST_PASSES
    timing, fewer = recorded(diamond(6, rows=1_000_000), RunRecorder(most=(4_000, 3_000)))
    holds_the_sums(timing, fewer)
    assert sum(map(len, fewer.spans)) <= 4_000
    assert sum(map(len, (*fewer.put, *fewer.taken))) <= 3_000
    for most in ("MOST_SPANS", "MOST_PASSES", "MOST_WINDOWS"):
        monkeypatch.setattr(recording, most, 50)
    for seed in range(40):
        holds_the_sums(*recorded(drawn(Random(seed))))
    timing, record = recorded(swiglu(16, 64, b=2048))
    holds_the_sums(timing, record)
    assert record.joined
