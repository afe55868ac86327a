"""Loops over time: what carries a state from round to round.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from stepagents.lower import views
from stepagents.lower.affine import Affine, Index
from stepagents.lower.aten.calls import Call, CannotLower, Results, handles
from stepagents.lower.bodies import parallel_dimensions
from stepagents.lower.values import LoopState, Rounds, StateOf, Value


@handles("loop_state")
def state(call: Call) -> Results:
    """What the round before left."""
    first = call.tensor("first")
    found = LoopState(first.shape, first.dtype, 0)
    call.world.firsts[found.number] = first
    return found


@handles("loop_item")
def item(call: Call) -> Results:
    """The slice that a round reads: a view along the loop's own counter, which the end of the loop fixes."""
    base, dim = call.tensor("base"), call.raw("dim") % len(call.tensor("base").shape)
    start, step, counter = call.size("start"), call.raw("step"), call.world.counter(call.node)

    def remap(index: Index) -> Index:
        return (*index[:dim], Affine.of(counter) * step + start, *index[dim:])

    return views.view(base, call.shape, remap)


@handles("loop_end")
def end(call: Call) -> Results:
    """The states after the last round, and results of all rounds."""
    states = [each for each in call.tensors("states") if isinstance(each, LoopState)]
    updates, results = call.tensors("updates"), call.tensors("results")
    components = list(updates)
    components += [each for each in results if all(each is not known for known in components)]
    for number, (each, update) in enumerate(zip(states, updates, strict=True)):
        each.index = number
        if (each.shape, each.dtype) != (update.shape, update.dtype):
            raise CannotLower("a round of the loop leaves a state of another shape or element type than it takes")
    more = [LoopState(each.shape, each.dtype, number) for number, each in enumerate(components)][len(states) :]
    firsts: list[Value | None] = [call.world.firsts[each.number] for each in states]
    firsts += [None] * len(more)
    parallel = parallel_dimensions(components, call.sizes)
    counter = call.world.counter(call.node)
    parts = (tuple(firsts), (*states, *more), tuple(components), parallel)
    last = Rounds(counter, *parts, is_last=True)
    every = Rounds(counter, *parts, is_last=False)
    every.last = last
    if any(place >= len(updates) for place in call.read_results()):
        last.every = every
    places = [next(place for place, known in enumerate(components) if known is each) for each in results]
    return (*(StateOf(last, place) for place in range(len(updates))), *(StateOf(every, place) for place in places))
