"""The exact engine's inner loop: units run, each until it waits for something.

Everything is whole numbers in rows, so that numba can compile :func:`run_units` where it is installed; without it the
rows are lists and the results are the same. Without arbitration the order in which units run changes nothing. Where
arrival decides, all others run as far as they can; then the decision with the smallest time is taken, of equals that of
the first unit, before memory. What is unknown yet can only follow from a later one. A decision of which all times are
known needs no waiting for others. A unit in a loop in which it only gives or takes does so when its neighbour has made
a slot or a token, without being queued; where both are, what they do with the tokens to come is counted in one go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

from stepcore.timing.instructions import MAX_NESTING
from stepcore.timing.microcode import Op

Row: TypeAlias = Any  # a list of int, or an array of int64

RUNNING, MEMORY, ENDED, LOST, FIRST_TOKEN, FIRST_SLOT = range(6)  # who waits for a channel stands in its ``waiter``
NEVER: Final = -1  # the cycle of what does not come
STACK: Final = MAX_NESTING
TOGETHER: Final = 256  # tokens that two units hand on in one go

_UNTIL, _TAKE, _SLOT, _PUT, _FREE = int(Op.UNTIL), int(Op.TAKE), int(Op.SLOT), int(Op.PUT), int(Op.FREE)
_WORK, _WORK_TABLE = int(Op.WORK), int(Op.WORK_TABLE)
_LOOP, _LOOP_TABLE, _NEXT, _REQUEST = int(Op.LOOP), int(Op.LOOP_TABLE), int(Op.NEXT), int(Op.REQUEST)
_BRANCH, _JUMP, _DECIDE, _ADMIT, _GUARD = int(Op.BRANCH), int(Op.JUMP), int(Op.DECIDE), int(Op.ADMIT), int(Op.GUARD)
_LOOPS = (_LOOP, _LOOP_TABLE, _ADMIT)


def run_units(  # noqa: PLR0912, PLR0915  # numba compiles one function, and calls would cost more than they do
    code: tuple[Row, Row, Row, Row, Row, Row],
    unit: tuple[Row, Row, Row, Row, Row, Row, Row],
    spent: tuple[Row, Row, Row],
    channel: tuple[Row, Row, Row, Row, Row, Row, Row, Row, Row, Row],
    ring: tuple[Row, Row],
    ends: tuple[Row, Row],
    asked: tuple[Row, Row, Row],
    queue: tuple[Row, Row],
    decided: tuple[Row, Row, Row, Row],
    memory: tuple[Row, Row, Row, Row, Row, Row, Row, Row],
    chip: tuple[int, int, int, int],
    numbers: tuple[int, int, int, int, int, int],
    steps: int,
) -> int:
    """Run the units of the queue until all wait, or ``steps`` instructions are spent; return how many are left.

    A negative result says that the beacon came by, with ``-1 - left``: the loop that begins at ``numbers[0]`` went
    round when no more than ``numbers[1]`` were left. Rows: ``unit`` has place, clock, the loop it is in (a place in
    the rows that follow), the rounds that loops have left and how often each was entered, what it waits for that is
    no channel, and for which one it decides; ``channel`` depth, latency, response, offset and size in ``ring``,
    tokens put, tokens taken, greatest fill, oldest token that is still there, the unit that waits for a token or
    for room (-1: none); ``ring`` when tokens are visible and when they were taken; ``ends`` producer, whether it is
    closed; ``asked`` a unit's port, first cycle and bursts; ``queue`` units in turn, where the next is read and
    written, and the time of the soonest decision that is left (``NEVER``); ``decided`` the units that decide by
    arrival, what each has decided and not done yet (-1: nothing; the number of channels: all are done), all that
    was decided, and where each unit writes the next of these. ``numbers`` has the beacon (two), from which cycle on
    memory has bursts to place (``NEVER``) besides those that are asked for in this call, whether memory is
    followed here, too, burst by burst, as :class:`stepcore.timing.memory.Memory` has it, and then, how many steps have
    to be left to go on where all units wait for it, and whether it may do so once more: ``memory`` has the units
    that ask, in the order of ports, the rates of their ports, the last answers to them, how long they waited, when
    each memory channel takes the next burst, how many it took, the last ``outstanding`` starts, and which channel
    comes next and how many bursts were placed; ``chip`` the interval, the cycles from start to answer, whether
    channels are triangular, ``outstanding``.
    """
    op, first, second, cursor, tables, alone = code
    place, clock, tops, rounds, entered, waits, waits_on = unit
    starved, blocked, worked = spent
    depth, latency, response, offset, size, put, taken, fill, oldest, waiter = channel
    visible, freed = ring
    producer, closed = ends
    port, cycle, bursts = asked
    turn, where = queue
    deciders, choice, chosen, logged = decided
    askers, rate, answer, waited, free, sent, recent, total = memory
    interval, latest, triangular, outstanding = chip
    beacon, listens, horizon, follows, pauses, goes = numbers
    banks, end, head, tail = len(free), len(turn) - 1, where[0], where[1]
    f = k = slot = 0
    while True:
        if head == tail:
            where[2] = NEVER
            if len(deciders) == 0 and not follows:
                where[0], where[1] = head, tail
                return steps
            soonest, decider, place_then, went = NEVER, NEVER, 0, False
            for u in deciders:
                if waits[u] < FIRST_TOKEN:
                    continue
                steps -= 1
                base = first[place[u]]
                best, early, unknown = -1, 0, -1
                for k in range(tables[base]):
                    entry = base + 3 + 3 * k
                    f = tables[entry]
                    if tables[entry + 1] == 0:
                        continue
                    if waits[u] == FIRST_SLOT:
                        i = put[f] - depth[f]
                        if i >= taken[f]:
                            if unknown < 0:
                                unknown = f
                            continue
                        v = freed[offset[f] + put[f] % size[f]] + response[f] if i >= 0 else 0
                    else:
                        i = taken[f]
                        if i >= put[f]:
                            if unknown < 0 and closed[f] == 0:
                                unknown = f
                            continue
                        v = visible[offset[f] + i % size[f]]
                    if best < 0 or v < early:
                        best, early = k, v
                if unknown >= 0:
                    waits_on[u] = unknown
                    if best >= 0:
                        v = max(early, clock[u])
                        if decider < 0 or v < soonest:
                            soonest, decider, place_then = v, u, best
                elif best >= 0 or tables[base + 1] >= 0:
                    choice[u] = best if best >= 0 else tables[base]  # behind all: it is done
                    waits[u] = RUNNING
                    turn[tail] = u
                    tail = tail + 1 if tail < end else 0
                    went = True
            if not went:
                now = horizon
                for u in askers:
                    if waits[u] == MEMORY and bursts[u] > 0 and (now < 0 or cycle[u] < now):
                        now = cycle[u]
                if decider >= 0 and not 0 <= now < soonest:
                    choice[decider] = place_then
                    waits[decider] = RUNNING
                    turn[tail] = decider
                    tail = tail + 1 if tail < end else 0
                elif now < 0 or not follows or (steps <= pauses and not goes):
                    where[2] = soonest
                    where[0], where[1] = head, tail
                    return steps
                else:
                    h, goes = total[0], 0
                    while head == tail and steps > 0 and (decider < 0 or now < soonest):
                        placed = 0
                        for u in askers:
                            n = bursts[u]
                            if n == 0 or cycle[u] > now or waits[u] != MEMORY:
                                continue
                            n = min(n, rate[u])
                            last = 0
                            for _ in range(n):
                                v = free[h]
                                if v <= now:
                                    v = now + 1
                                if outstanding > 0:
                                    k = h * outstanding + sent[h] % outstanding
                                    if sent[h] >= outstanding:
                                        v = max(v, recent[k] + latest)
                                    recent[k] = v
                                    sent[h] += 1
                                free[h] = v + interval
                                if v > last:  # noqa: PLR1730  # a call for each burst would cost more
                                    last = v
                                placed += 1
                                h += placed if triangular else 1
                                if h >= banks:
                                    h %= banks
                            answer[u] = max(answer[u], last + latest)
                            bursts[u] -= n
                            cycle[u] = now + 1
                            if bursts[u] == 0:
                                waited[u] += answer[u] - clock[u]
                                clock[u] = answer[u]
                                answer[u] = 0
                                waits[u] = RUNNING
                                turn[tail] = u
                                tail = tail + 1 if tail < end else 0
                        total[1] += placed
                        steps -= 1 + placed // 8
                        now += 1
                    total[0] = h
            if steps <= 0:
                where[0], where[1] = head, tail
                return 0
            if head == tail:
                continue
        u = turn[head]
        head = head + 1 if head < end else 0
        at = place[u]
        t = clock[u]
        top = tops[u]
        what = op[at]
        while True:  # instructions of the usual order are taken up in one round
            if what <= _TAKE:
                f = first[at]
                k = taken[f]
                if k >= put[f]:
                    if what <= _UNTIL and closed[f]:
                        v = clock[producer[f]]
                        if v > t:
                            starved[u] += v - t
                            t = v
                        at = cursor[at] if what == _UNTIL else at + 1
                        what = op[at]
                        continue
                    waiter[f] = u
                    break
                slot = offset[f] + k % size[f]
                v = visible[slot]
                if v > t:
                    starved[u] += v - t
                    t = v
                n = second[at]
                if n > 0:
                    t += n
                    worked[u] += n
                if what != _TAKE:
                    at += 1
                    what = op[at]
                    if what <= _FREE:
                        continue
            elif what == _FREE:
                f = first[at]
                k = taken[f]
                slot = offset[f] + k % size[f]
            if what <= _FREE:
                if fill[f] < depth[f]:  # else nothing greater is to be found
                    given = visible[slot] - latency[f]
                    low = oldest[f]
                    while low < k and freed[offset[f] + low % size[f]] <= given:
                        low += 1
                    oldest[f] = low
                    if k - low >= fill[f]:
                        fill[f] = k - low + 1
                freed[slot] = t
                taken[f] = k + 1
                w = waiter[f]
                if w >= 0:
                    p, inner = place[w], tops[w]
                    if alone[p] >= 0 and alone[at] < 0 and rounds[inner] > 1 and p != beacon:
                        v, now, n = t + response[f], clock[w], second[p]  # it fills the slot at once, and waits again
                        if v > now:
                            blocked[w] += v - now
                            now = v
                        visible[slot] = now + latency[f]
                        put[f] += 1
                        rounds[inner] -= 1
                        worked[w] += n
                        clock[w] = now + n
                        steps -= 1
                    else:
                        waiter[f] = -1
                        turn[tail] = w
                        tail = tail + 1 if tail < end else 0
                at += 1
                what = op[at]
                if what <= _FREE:
                    continue
            if what <= _PUT:
                f = first[at]
                k = put[f]
                if what != _PUT and k - depth[f] >= taken[f]:
                    waiter[f] = u
                    break
                slot = offset[f] + k % size[f]
                if what != _PUT:
                    v = freed[slot] + response[f]
                    if v > t:
                        blocked[u] += v - t
                        t = v
                if what != _SLOT:
                    v = visible[slot] = t + latency[f]
                    put[f] = k + 1
                    n = second[at]
                    if n > 0:
                        t += n
                        worked[u] += n
                    w = waiter[f]
                    if w >= 0:
                        p, left = place[w], 0
                        if alone[p] >= 0:  # it takes the token at once; those to come, too, if this unit only gives
                            rest, before, now, inner = alone[p], second[p], clock[w], tops[w]
                            base, slots, later, back = offset[f], size[f], latency[f], response[f]
                            low, most, room = oldest[f], fill[f], depth[f]
                            left = rounds[inner]
                            count = min(rounds[top], left, TOGETHER) if alone[at] >= 0 else 1
                            last = k + count - 1
                            while True:
                                if v > now:
                                    starved[w] += v - now
                                    now = v
                                now += before
                                if most < room:
                                    v -= later
                                    while low < k and freed[base + low % slots] <= v:
                                        low += 1
                                    if k - low >= most:
                                        most = k - low + 1
                                freed[slot] = now
                                if k == last:
                                    break
                                now += rest
                                k += 1
                                slot = base + k % slots
                                v = freed[slot] + back
                                if v > t:
                                    blocked[u] += v - t
                                    t = v
                                v = visible[slot] = t + later
                                t += n
                            oldest[f], fill[f] = low, most
                            put[f] = taken[f] = k + 1
                            worked[w] += before * count + rest * (count - 1)
                            if count > 1:
                                rounds[top] -= count - 1
                                worked[u] += n * (count - 1)
                            steps -= count
                            left -= count
                            if left > 0 and p != beacon:  # it waits for the next
                                rounds[inner] = left
                                worked[w] += rest
                                now += rest
                            else:
                                rounds[inner] = left + 1
                                place[w] = p + 1
                                left = 0
                            clock[w] = now
                        if left == 0:
                            waiter[f] = -1
                            turn[tail] = w
                            tail = tail + 1 if tail < end else 0
                at += 1
                what = op[at]
                if what <= _PUT:
                    continue
            steps -= 3  # about as many instructions a round takes up
            if what == _NEXT:
                n = rounds[top] - 1
                rounds[top] = n
                if n > 0:
                    at = first[at]
                    if at == beacon and steps <= listens:
                        place[u] = at
                        clock[u] = t
                        turn[tail] = u
                        tail = tail + 1 if tail < end else 0
                        where[0], where[1] = head, tail
                        return -1 - max(steps, 0)
                else:
                    tops[u] -= 1
                    top -= 1
                    at += 1
            elif what == _WORK:
                t += first[at]
                worked[u] += first[at]
                at += 1
            elif what in _LOOPS:
                n = first[at]
                if what != _LOOP:
                    n = tables[cursor[at]]
                    cursor[at] += 1
                    if what == _ADMIT:
                        for k in range(cursor[at], cursor[at] + n):
                            tables[first[at] + 4 + 3 * tables[k]] = 1
                        cursor[at] += n
                if n > 0:
                    tops[u] += 1
                    top += 1
                    rounds[top] = n
                    entered[top] += 1
                    at += 1
                else:
                    at = second[at]
            elif what == _WORK_TABLE:
                n = tables[cursor[at]]
                cursor[at] += 1
                t += n
                worked[u] += n
                at += 1
            elif what == _BRANCH:
                n = cursor[at]
                cursor[at] = n + 1
                at = tables[n]
            elif what == _JUMP:
                at = first[at]
            elif what == _REQUEST:
                port[u], cycle[u], bursts[u] = first[at], t + 1, second[at]
                at += 1
                waits[u] = MEMORY
                break
            elif what == _DECIDE:
                k = choice[u]
                base = first[at]
                if k < 0:
                    waits[u], waits_on[u] = FIRST_SLOT if second[at] else FIRST_TOKEN, tables[base + 3]
                    break
                choice[u] = -1
                if k == tables[base]:
                    for entry in range(base + 3, base + 3 + 3 * k, 3):
                        v = clock[producer[tables[entry]]]
                        if v > t:
                            starved[u] += v - t
                            t = v
                    at = tables[base + 1]
                    what = op[at]
                    continue
                entry = base + 3 + 3 * k
                f = tables[entry]
                if second[at]:
                    v = freed[offset[f] + put[f] % size[f]] + response[f] if put[f] >= depth[f] else 0
                    if v > t:
                        blocked[u] += v - t
                        t = v
                else:
                    v = visible[offset[f] + taken[f] % size[f]]
                    if v > t:
                        starved[u] += v - t
                        t = v
                chosen[logged[u]] = k
                logged[u] += 1
                if tables[base + 2]:
                    tables[entry + 1] = 0
                at = tables[entry + 2]
            elif what == _GUARD:
                if cursor[at + 1] >= second[at]:
                    waits[u] = LOST
                    break
                at += 1
            else:
                waits[u] = ENDED
                for f in range(len(producer)):
                    if producer[f] == u:
                        closed[f] = 1
                        w = waiter[f]
                        if w >= 0:
                            waiter[f] = -1
                            turn[tail] = w
                            tail = tail + 1 if tail < end else 0
                break
            what = op[at]
        place[u] = at
        clock[u] = t
        if steps <= 0:
            where[0], where[1] = head, tail
            return 0


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
