"""The exact engine's inner loop: units run, each until it waits for something.

Everything is whole numbers in rows, so that numba can compile :func:`run_units` where it is installed; without it the
rows are lists and the results are the same. Without arbitration the order in which units run changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

from stepcore.timing.microcode import Op

Row: TypeAlias = Any  # a list of int, or an array of int64

RUNNING, EMPTY, FULL, MEMORY, ENDED = range(5)  # what a unit waits for
STACK: Final = 8

_PEEK, _TAKE, _ENQ, _SLOT, _PUT = int(Op.PEEK), int(Op.TAKE), int(Op.ENQ), int(Op.SLOT), int(Op.PUT)
_WORK, _WORK_TABLE, _LOOP, _LOOP_TABLE = int(Op.WORK), int(Op.WORK_TABLE), int(Op.LOOP), int(Op.LOOP_TABLE)
_NEXT, _REQUEST, _NEXT_OR_DONE = int(Op.NEXT), int(Op.REQUEST), int(Op.NEXT_OR_DONE)
_LOOPS = (_LOOP, _LOOP_TABLE)


def run_units(  # noqa: PLR0912, PLR0915  # numba compiles one function, and calls would cost more than they do
    code: tuple[Row, Row, Row, Row, Row],
    unit: tuple[Row, Row, Row, Row, Row, Row, Row],
    spent: tuple[Row, Row, Row],
    channel: tuple[Row, Row, Row, Row, Row, Row, Row, Row],
    ring: tuple[Row, Row],
    ends: tuple[Row, Row, Row],
    asked: tuple[Row, Row, Row],
    queue: tuple[Row, Row],
    numbers: tuple[int, int],
    steps: int,
) -> int:
    """Run the units of the queue until all wait, or ``steps`` instructions are spent; return how many are left.

    A negative result says that the beacon came by, with ``-1 - left``: the loop that begins at ``numbers[0]`` went
    round. Rows: ``unit`` has place, clock, stack height, stack of rounds left and of how
    often each loop was entered, what it waits for and on which channel;
    ``channel`` depth, latency, response, offset in ``ring``, tokens put, tokens taken, greatest fill, oldest token that
    is still there;
    ``ring`` when tokens are visible and when they were taken; ``ends`` producer, consumer, whether it is closed;
    ``asked`` a unit's port, first cycle and bursts; ``queue`` units in turn, and its head and length.
    """
    op, first, second, cursor, tables = code
    place, clock, height, rounds, entered, waits, waits_on = unit
    starved, blocked, worked = spent
    depth, latency, response, offset, put, taken, fill, oldest = channel
    visible, freed = ring
    producer, consumer, closed = ends
    port, cycle, bursts = asked
    turn, where = queue
    beacon, count = numbers
    while where[1] > 0:
        u = turn[where[0]]
        where[0] = (where[0] + 1) % count
        where[1] -= 1
        at = place[u]
        t = clock[u]
        waits[u] = RUNNING
        while True:
            steps -= 1
            what = op[at]
            if what <= _TAKE or what == _NEXT_OR_DONE:
                f = first[at]
                k = taken[f]
                if k >= put[f]:
                    if what == _NEXT_OR_DONE and closed[f]:
                        at += 1
                        continue
                    waits[u], waits_on[u] = EMPTY, f
                    break
                slot = offset[f] + k % depth[f]
                v = visible[slot]
                if v > t:
                    starved[u] += v - t
                    t = v
                if what == _TAKE:
                    given = v - latency[f]
                    low = oldest[f]
                    while low < k and freed[offset[f] + low % depth[f]] <= given:
                        low += 1
                    oldest[f] = low
                    if k - low >= fill[f]:
                        fill[f] = k - low + 1
                    freed[slot] = t
                    taken[f] = k + 1
                    w = producer[f]
                    if waits[w] == FULL and waits_on[w] == f:
                        waits[w] = RUNNING
                        turn[(where[0] + where[1]) % count] = w
                        where[1] += 1
                at += 1
            elif what <= _PUT:
                f = first[at]
                k = put[f]
                slot = offset[f] + k % depth[f]
                if what != _PUT and k >= depth[f]:
                    if k - depth[f] >= taken[f]:
                        waits[u], waits_on[u] = FULL, f
                        break
                    v = freed[slot] + response[f]
                    if v > t:
                        blocked[u] += v - t
                        t = v
                if what != _SLOT:
                    visible[slot] = t + latency[f]
                    put[f] = k + 1
                    w = consumer[f]
                    if waits[w] == EMPTY and waits_on[w] == f:
                        waits[w] = RUNNING
                        turn[(where[0] + where[1]) % count] = w
                        where[1] += 1
                at += 1
            elif what == _WORK:
                t += first[at]
                worked[u] += first[at]
                at += 1
            elif what == _NEXT:
                top = u * STACK + height[u]
                rounds[top] -= 1
                if rounds[top] > 0:
                    at = first[at]
                    if at == beacon:
                        place[u] = at
                        clock[u] = t
                        turn[(where[0] + where[1]) % count] = u
                        where[1] += 1
                        return -1 - max(steps, 0)
                else:
                    height[u] -= 1
                    at += 1
            elif what in _LOOPS:
                n = first[at]
                if what == _LOOP_TABLE:
                    n = tables[cursor[at]]
                    cursor[at] += 1
                if n > 0:
                    height[u] += 1
                    rounds[u * STACK + height[u]] = n
                    entered[u * STACK + height[u]] += 1
                    at += 1
                else:
                    at = second[at]
            elif what == _WORK_TABLE:
                n = tables[cursor[at]]
                cursor[at] += 1
                t += n
                worked[u] += n
                at += 1
            elif what == _REQUEST:
                port[u], cycle[u], bursts[u] = first[at], t + 1, second[at]
                at += 1
                waits[u] = MEMORY
                break
            else:
                waits[u] = ENDED
                break
        place[u] = at
        clock[u] = t
        if waits[u] == ENDED:
            for f in range(len(producer)):
                if producer[f] == u:
                    closed[f] = 1
                    w = consumer[f]
                    if waits[w] == EMPTY and waits_on[w] == f:
                        waits[w] = RUNNING
                        turn[(where[0] + where[1]) % count] = w
                        where[1] += 1
        if steps <= 0:
            return 0
    return steps


@cache
def compiled() -> Callable[..., int] | None:
    """Return :func:`run_units` as machine code, or None where numba is not installed."""
    try:
        from numba import njit  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    made: Any
    try:
        made = njit(cache=True)(run_units)
    except RuntimeError:  # there is no folder that can be written, so it is compiled in each process
        made = njit(run_units)
    found: Callable[..., int] = made
    return found
