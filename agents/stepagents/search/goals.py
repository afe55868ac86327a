"""The outputs that a program has to return: which streams give them, and bringing streams to a shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from stepagents.search.anchors import agree
from stepagents.search.broadcast import inserted, insertion_ops
from stepagents.search.items import SearchStep, SearchStream, embeddings, is_open, joined, parts
from stepagents.search.joins import EmbeddedStream
from stepagents.search.space import Space
from stepagents.search.tiles import read_again
from stepcore.sim.world import World
from stepcore.types import Shape, StreamType


@dataclass(slots=True)
class _Goal:
    """One output: its type, its values per component and data set, and what was found.

    ``whole`` is the last stream that gives all of it, ``single`` the last one for each component.
    """

    type: StreamType
    wanted: list[list[Tensor]]
    whole: EmbeddedStream | None = None
    single: dict[int, EmbeddedStream] = field(default_factory=dict)

    def places(self) -> tuple[EmbeddedStream, ...] | None:
        """Return the streams that give the output, zipped in this order; None while some lack."""
        if self.whole is not None:
            return (self.whole,)
        count = len(parts(self.type.element))
        return tuple(self.single[i] for i in range(count)) if len(self.single) == count else None


class Goals:
    """All outputs of one task."""

    def __init__(self, space: Space, worlds: Sequence[World]) -> None:
        self._space = space
        runs = zip(*(world.references() for world in worlds), strict=True)
        self._goals = [
            _Goal(goal, [list(column) for column in zip(*run, strict=True)])
            for goal, run in zip(space.goals, runs, strict=True)
        ]

    def note(self, item: SearchStream) -> list[SearchStream] | None:
        """Note what a new stream gives; returns one stream per output when it completes them."""
        changed = False
        for goal in self._goals:
            for start, place in self._fits(item, goal):
                changed = True
                if len(parts(item.element)) == len(goal.wanted):
                    goal.whole = place
                else:
                    goal.single[start] = place
        return self._outputs() if changed else None

    def _outputs(self) -> list[SearchStream] | None:
        outputs: list[SearchStream] = []
        for goal in self._goals:
            places = goal.places()
            if places is None:
                return None
            outputs.append(_zipped([placed(place, goal.type.shape, self._space) for place in places], goal.type.shape))
        return outputs

    def _fits(self, item: SearchStream, goal: _Goal) -> Iterator[tuple[int, EmbeddedStream]]:
        """Yield the components from which on ``item`` gives the output, and how it has to be placed for that."""
        own, whole = parts(item.element), parts(goal.type.element)
        if any(part not in whole for part in own):
            return
        sizes = self._space.bound(goal.type.shape)
        for start in range(len(whole) - len(own) + 1):
            if whole[start : start + len(own)] != own or (len(own) > 1 and len(own) != len(whole)):
                continue
            for positions in embeddings(item.shape, goal.type.shape):
                if insertion_ops(item.element, positions, goal.type.shape) is None:
                    continue
                dense = [values.dense() for values in inserted(item.data, positions, sizes)]
                wanted = goal.wanted[start : start + len(own)]
                if all(agree(d[i], w[n]) for i, w in enumerate(wanted) for n, d in enumerate(dense)):
                    yield start, EmbeddedStream(item, positions)
                    break


def placed(place: EmbeddedStream, target: Shape, space: Space) -> SearchStream:
    """Return the stream brought to the shape ``target``; itself where it has it."""
    item = place.item
    if item.step is not None and not item.step.args and item.shape != target:
        load = read_again(item.step.ops[0], place.positions, target)
        again = inserted(item.data, place.positions, space.bound(target))
        step = SearchStep((load,), (), item.move)
        kind = StreamType(item.element, target)
        return SearchStream(-1, kind, again, step, 0, item.cost, item.uses, move=item.move)
    ops = insertion_ops(item.element, place.positions, target)
    assert ops is not None, "what cannot be brought to the shape is no candidate"
    if not ops:
        return item
    sizes = [1 if is_open(size) else size.bind(space.bindings) for size in target]
    data = inserted(item.data, place.positions, sizes)
    kind = StreamType(item.element, target)
    return SearchStream(
        -1, kind, data, SearchStep(ops, (item,), "broadcast"), 0, item.cost, item.uses, move="broadcast"
    )


def _zipped(items: Sequence[SearchStream], target: Shape) -> SearchStream:
    if len(items) == 1:
        return items[0]
    kind = StreamType(joined(item.element for item in items), target)
    return SearchStream(-1, kind, [], SearchStep((), tuple(items), "Zip"), 0, 0.0)
