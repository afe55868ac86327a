"""What holds of every run of a network, whatever its units wait for: random delays, and tiles of random sizes."""

from __future__ import annotations

from pathlib import Path
from random import Random

from stepcore.check.files import check_text
from stepcore.cycles.network_of import network_of
from stepcore.timing.exact import run
from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import Choose, Instruction, Op, Step, Times, work_table
from stepcore.timing.network import Network
from stepcore.timing.recorder import RunRecorder
from stepcore.timing.stops import with_depths

EXPERT = (Path(__file__).parents[1] / "examples" / "swiglu_tiles.py").read_text(encoding="utf-8")
MOST_DELAY = 4


def delayed(network: Network, rng: Random) -> Network:
    """Return the network with a random delay before each token that a unit takes, each time another one."""
    found = Network(network.hardware, [], network.channels, network.dispatch)
    for unit in network.units:
        found.unit(unit.name, _delayed(unit.body, rng, 1), unit.reads, unit.writes)
    return found


def _delayed(body: tuple[Instruction, ...], rng: Random, times_run: int) -> list[Instruction]:
    made: list[Instruction] = []
    for item in body:
        if isinstance(item, Times):
            count = times_run * item.count if item.table is None else sum(item.table)
            made.append(Times(tuple(_delayed(item.body, rng, count)), item.count, item.table))
            continue
        assert isinstance(item, Step | Choose), "no other instruction is drawn"
        if isinstance(item, Step) and item.op is Op.TAKE:
            made += work_table([rng.randint(0, MOST_DELAY) for _ in range(times_run)])
        made.append(item)
    return made


def assert_under_delays(network: Network, rng: Random) -> None:
    """Tokens pass in order, at most ``depth`` are in flight, none is seen too soon; deeper FIFOs never stop a run."""
    network = delayed(network, rng)
    record = RunRecorder()
    timing = run(network, recorder=record)
    for channel, puts, takes in zip(network.channels, record.put, record.taken, strict=True):
        put, taken = ([cycle for _tokens, cycle in passes] for passes in (puts, takes))
        assert put == sorted(put)
        assert taken == sorted(taken)
        assert len(put) - len(taken) <= channel.depth
        assert all(seen >= given + channel.latency for given, seen in zip(put, taken, strict=False))
        freed = zip(put[channel.depth :], taken, strict=False)
        assert all(given >= left + channel.response for given, left in freed)
    deeper = {f: channel.depth + rng.randint(0, 3) for f, channel in enumerate(network.channels)}
    assert timing.waiting or not run(with_depths(network, deeper)).waiting
    assert all(unit.worked + unit.memory <= unit.clock <= timing.cycles for unit in timing.units)


def expert_network(tile: tuple[int, int], sizes: tuple[int, int, int], hardware: Hardware) -> Network:
    """Return what the text of the validation graph is on a chip, with other tiles and sizes ``B``, ``D`` and ``F``."""
    text = EXPERT.replace("TM, TN = 16, 64", "TM, TN = {}, {}".format(*tile))
    text = text.replace("dims={B: 64, D: 256, F: 512}", "dims={{B: {}, D: {}, F: {}}}".format(*sizes))
    (program,) = check_text(text, "file.py").programs
    assert program.runnable, program.diagnostics
    return network_of(program.spec, program.typed, program.spec.bindings(), hardware).network


def drawn_tiles(rng: Random, hardware: Hardware) -> Network:
    """Return the validation graph with random small tiles, from its text."""
    tile = rng.choice((1, 2, 4)), rng.choice((4, 8, 16))
    sizes = tile[0] * rng.randint(1, 6), rng.choice((4, 12, 16)), tile[1] * rng.randint(1, 5)
    return expert_network(tile, sizes, hardware)
