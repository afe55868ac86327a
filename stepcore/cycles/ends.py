"""Where a program meets off-chip memory without saying so: inputs, parameters that functions read, and results.

Elements of a burst or more move one by one, row after row. Smaller ones move in blocks, one block ahead of the
elements, which follow each other cycle by cycle. A parameter is asked for at cycle 0 and stays on chip. Bare stops are
no elements: they come in the cycle of the element before.
"""

from __future__ import annotations

from stepcore.timing.bare_stops import gaps
from stepcore.timing.microcode import Instruction, enq, enq_all, peek, request, take, times, work
from stepcore.timing.network import Network
from stepcore.timing.unit_programs import Tokens, passing, store_unit


def load(network: Network, port: int, to: int, tokens: Tokens, element: tuple[int, int]) -> None:
    """Add the load of a stream of ``tokens``, elements of ``(rows, bytes of a row)``, into the channel ``to``."""
    memory, name = network.hardware.memory, network.channels[to].name
    rows, row = element
    if rows * row >= memory.burst:
        bursts = rows * -(-row // memory.burst)
        network.unit(f"load {name}", passing(tokens, [*request(port, bursts), *enq(to)], enq(to)), (), (to,))
        return
    ready = network.channel(f"blocks of {name}", 1, latency=0, response=0)
    count, first, behind = _bare_stops(tokens)
    fetched: list[Instruction] = []
    given: list[Instruction] = times(first, enq(to))
    for blocks, elements in _blocks(count, rows * row, memory.block):
        bursts = -(-elements * rows * row // memory.burst)
        fetched += times(blocks, [*request(port, bursts), *enq(ready)])
        each = [*enq(to), *work(1), *_behind(behind, blocks * elements, enq(to))]
        given += times(blocks, [*peek(ready), *times(elements, each), *take(ready)])
    network.unit(f"load {name}", fetched, (), (ready,))
    network.unit(f"elements of {name}", given, (ready,), (to,))


def store(network: Network, port: int, of: int, tokens: Tokens, element: tuple[int, int]) -> None:
    """Add the store of a stream of ``tokens``, elements of ``(rows, bytes of a row)``, from the channel ``of``."""
    memory, name = network.hardware.memory, network.channels[of].name or "a result"
    rows, row = element
    if rows * row >= memory.burst:
        bursts = rows * -(-row // memory.burst)
        network.unit(f"store {name}", store_unit(port, of, tokens, bursts), (of,))
        return
    full = network.channel(f"blocks of {name}", 1, latency=0, response=0)
    count, first, behind = _bare_stops(tokens)
    gathered: list[Instruction] = times(first, take(of))
    written: list[Instruction] = []
    for blocks, elements in _blocks(count, rows * row, memory.block):
        bursts = -(-elements * rows * row // memory.burst)
        each = [*take(of), *work(1), *_behind(behind, blocks * elements, take(of))]
        gathered += times(blocks, [*times(elements, each), *enq(full)])
        written += times(blocks, [*peek(full), *request(port, bursts), *take(full)])
    network.unit(f"elements of {name}", gathered, (of,), (full,))
    network.unit(f"store {name}", written, (full,))


def _bare_stops(tokens: Tokens) -> tuple[int, int, list[int]]:
    """Return how many elements there are, how many bare stops before them, and how many behind each, if there are any.

    They are taken from the front of that list as they are used.
    """
    if isinstance(tokens, int) or all(tokens):
        return tokens if isinstance(tokens, int) else len(tokens), 0, []
    first, *behind = gaps(tokens)
    return len(behind), first, behind


def _behind(behind: list[int], count: int, body: list[Instruction]) -> list[Instruction]:
    """Return ``body`` as often as bare stops stand behind each of the next ``count`` elements."""
    now, behind[:] = behind[:count], behind[count:]
    return times(now, body) if now else []


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
