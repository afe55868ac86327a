"""Where a program meets off-chip memory without saying so: inputs, parameters that functions read, and results.

Elements of a burst or more move one by one, row after row. Smaller ones move in blocks, one block ahead of the
elements, which follow each other cycle by cycle. A parameter is asked for at cycle 0 and stays on chip.
"""

from __future__ import annotations

from stepcore.timing.microcode import Instruction, enq, enq_all, peek, request, take, times, work
from stepcore.timing.network import Network


def load(network: Network, port: int, to: int, count: int, element: tuple[int, int]) -> None:
    """Add the load of ``count`` elements, each ``(rows, bytes of a row)``, into the channel ``to``."""
    memory, name = network.hardware.memory, network.channels[to].name
    rows, row = element
    if rows * row >= memory.burst:
        bursts = rows * -(-row // memory.burst)
        network.unit(f"load {name}", times(count, [*request(port, bursts), *enq(to)]), (), (to,))
        return
    ready = network.channel(f"blocks of {name}", 1, latency=0, response=0)
    fetched: list[Instruction] = []
    given: list[Instruction] = []
    for blocks, elements in _blocks(count, rows * row, memory.block):
        bursts = -(-elements * rows * row // memory.burst)
        fetched += times(blocks, [*request(port, bursts), *enq(ready)])
        given += times(blocks, [*peek(ready), *times(elements, [*enq(to), *work(1)]), *take(ready)])
    network.unit(f"load {name}", fetched, (), (ready,))
    network.unit(f"elements of {name}", given, (ready,), (to,))


def store(network: Network, port: int, of: int, count: int, element: tuple[int, int]) -> None:
    """Add the store of ``count`` elements, each ``(rows, bytes of a row)``, from the channel ``of``."""
    memory, name = network.hardware.memory, network.channels[of].name
    rows, row = element
    if rows * row >= memory.burst:
        bursts = rows * -(-row // memory.burst)
        network.unit(f"store {name}", times(count, [*peek(of), *request(port, bursts), *take(of)]), (of,))
        return
    full = network.channel(f"blocks of {name}", 1, latency=0, response=0)
    gathered: list[Instruction] = []
    written: list[Instruction] = []
    for blocks, elements in _blocks(count, rows * row, memory.block):
        bursts = -(-elements * rows * row // memory.burst)
        gathered += times(blocks, [*times(elements, [*take(of), *work(1)]), *enq(full)])
        written += times(blocks, [*peek(full), *request(port, bursts), *take(full)])
    network.unit(f"elements of {name}", gathered, (of,), (full,))
    network.unit(f"store {name}", written, (full,))


def load_parameter(network: Network, port: int, name: str, size: int, readers: int) -> list[int]:
    """Add the load of a parameter of ``size`` bytes; return a channel for each reader, in which its arrival stands."""
    told = [network.channel(f"{name} is there", 1, latency=0, response=0) for _ in range(readers)]
    bursts = -(-size // network.hardware.memory.burst)
    network.unit(f"load {name}", [*request(port, bursts), *enq_all(told)], (), told)
    return told


def _blocks(count: int, size: int, block: int) -> list[tuple[int, int]]:
    """Return how many blocks there are with how many elements each: whole ones, then the rest."""
    each = max(block // max(size, 1), 1)
    whole, rest = divmod(count, each)
    return [(blocks, elements) for blocks, elements in ((whole, each), (1, rest)) if blocks and elements]
