"""How long lanes take, in closed form: requests dealt out as a run deals them, lanes sharing the memory's bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from stepagents.schedules.ragged.points import FREE, Dealing
from stepcore.records import Record


class TilePace(Record):
    """Cycles of a tile in a lane by itself (``alone``) and of the memory (``shared``), and from query to query.

    Lanes share the memory: with ``n`` of them at work a tile takes at least ``n * shared``. Queries come one by one.
    """

    alone: float
    shared: float
    query: float


def lane_cycles(dealing: Dealing, tiles: Sequence[int], lanes: int, pace: TilePace) -> float:
    """Return the cycles until the last lane has ended, each lane getting an equal share of the memory.

    ``tiles`` are those of each request in the order in which they come. Lanes that choose get the next request when
    they end one (list scheduling), the others have theirs from the start.
    """
    waiting = _dealt(dealing, tiles, lanes)
    # Each lane at work goes on at the same pace, so a lane ends at a number of tiles, and time follows from them.
    at_work = [(0.0, lane) for lane in range(lanes)]
    heapify(at_work)
    block = -(-len(tiles) // lanes)
    time, progress = pace.query * (len(tiles) - block if dealing == "coarse" else lanes), 0.0  # the last lane begins
    while at_work:
        end, lane = heappop(at_work)
        time += (end - progress) * max(pace.alone, (len(at_work) + 1) * pace.shared)
        progress = end
        queue = waiting[lane % len(waiting)]
        if queue:
            heappush(at_work, (end + queue.pop(), lane))
    return time


def _dealt(dealing: Dealing, tiles: Sequence[int], lanes: int) -> list[list[int]]:
    """Return the queue of each lane, or the one that all take from; the next request is the last of its list."""
    if dealing in FREE:
        return [sorted(tiles) if dealing == "longest" else [*reversed(tiles)]]
    block = -(-len(tiles) // lanes)
    if dealing == "coarse":
        return [[*reversed(tiles[lane * block : (lane + 1) * block])] for lane in range(lanes)]
    return [[*reversed(tiles[lane::lanes])] for lane in range(lanes)]
