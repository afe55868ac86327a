"""From experience to a prior over the moves of the search: a cost model that prefers what programs that work did.

Every stream of a program was a choice: of all moves that its type allows, some were made. The model is a conditional
logit over these choices with the present costs as its offset; its features are a layout move and one trait of it each
(see :mod:`stepagents.search.traits`, and :mod:`stepagents.search.taught` on why no others), its penalty is a Gaussian
prior on what experience may add. Loads torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from stepagents.experience.identity import UnusableProgram, checked_program, task_key
from stepagents.search.costs import CostModel, Key, features
from stepagents.search.items import SearchStream, parts
from stepagents.search.moves import MadeStream, Move, Moves
from stepagents.search.space import Space
from stepagents.search.taught import result_type
from stepagents.search.traits import move_traits
from stepagents.search.unary import layout_moves
from stepcore.check.programs import Checked
from stepcore.graph.task import TaskFile
from stepcore.jobdata.writing import Experience
from stepcore.ops.accum import Accum
from stepcore.ops.base import Operator
from stepcore.ops.map import Map
from stepcore.ops.partition import Partition
from stepcore.ops.promote import Promote
from stepcore.ops.scan import Scan
from stepcore.records import Record

MOST: Final = 300  # experiences; reading one takes about 10 ms
STRENGTH: Final = 1.0  # precision of the prior on a learned weight: the larger, the less is learned
_MOST_STEPS: Final = 500
_FIRST_STEP: Final = 0.01
_FLAT: Final = 1e-3  # of the gradient
_NEGLIGIBLE: Final = 1e-4  # nats

Vector: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
_Ways: TypeAlias = tuple[str, tuple[Operator, ...]]


class MoveChoice(Record):
    """The moves that one stream allowed: base cost and features of each, which were made, and what it counts."""

    costs: tuple[float, ...]
    features: tuple[tuple[Key, ...], ...]
    made: tuple[int, ...]
    weight: float


def search_costs(
    experiences: Sequence[Experience], base: CostModel | None = None, strength: float = STRENGTH
) -> CostModel:
    """Return ``base`` (the hand-set costs unless given) refitted to the programs of ``experiences``.

    Several programs for one task share its weight. A program that does not fit its task (which the store never holds)
    teaches nothing. Of very much experience an even part is enough.
    """
    base = base or CostModel()
    experiences = experiences[:: -(-len(experiences) // MOST) or 1]
    found = list(choices(experiences, base))
    return base if not found else replace(base, learned=_fitted(found, strength))


def choices(experiences: Sequence[Experience], base: CostModel) -> Iterator[MoveChoice]:
    """Yield the choices that the programs made."""
    usable: list[tuple[str, TaskFile, Checked]] = []
    for experience in experiences:
        try:
            read = checked_program(experience.task_text, experience.task, experience.impl)
        except UnusableProgram:
            continue
        usable.append((task_key(experience.task_text), *read))
    programs = Counter(key for key, _, _ in usable)
    for key, task, checked in usable:
        assert task.spec is not None
        space = Space.of(task.spec, task.spec.bindings())
        found = Moves(checked.typed, space)
        moves = [move for move in found.moves if (move.name,) in base.table]  # the search makes no others
        for stream in found.streams:
            made = [move for move in moves if move.source.index == stream.index]
            if made:
                yield _choice(stream, made, space, base, 1.0 / programs[key])


def _choice(stream: MadeStream, made: Sequence[Move], space: Space, base: CostModel, weight: float) -> MoveChoice:
    ways = dict.fromkeys([*((move.name, move.ops) for move in made), *_ways(stream, space, base)])
    costs: list[float] = []
    keys: list[tuple[Key, ...]] = []
    for name, ops in ways:
        result = None if _is_applied(ops) else result_type(ops, stream.type, space)
        costs.append(base(name, stream.made_by))
        traits = () if result is None else move_traits(stream.type, stream.made_by, result, space)
        keys.append(() if result is None else tuple(features(name, traits)))
    return MoveChoice(tuple(costs), tuple(keys), tuple(range(len({(move.name, move.ops) for move in made}))), weight)


def _is_applied(ops: Sequence[Operator]) -> bool:
    """Return whether a move applies a function or routes: these compete with layout moves, but learn nothing."""
    return any(hasattr(op, "fn") or isinstance(op, Partition) for op in ops)


def _ways(stream: MadeStream, space: Space, base: CostModel) -> Iterator[_Ways]:
    """Yield the moves that the search would consider on a stream, as far as types tell."""
    item = SearchStream(0, stream.type, [], None, 0, 0.0, move=stream.made_by)
    for _cost, name, ops in layout_moves(item, space, base):
        yield name, ops
    own = parts(stream.type.element)
    dimensions = len(stream.type.shape)
    for components, fns in space.by_input.items():
        if components[: len(own)] != own:
            continue
        for fn in fns:
            if not fn.has_state:
                yield "Map", (Map(fn=fn),)
                continue
            for folded in range(1, dimensions):
                yield "Accum", (Accum(fn=fn, b=folded),)
                yield "Scan", (Scan(fn=fn, b=folded),)
            yield "AccumAll", (Promote(b=dimensions), Accum(fn=fn, b=dimensions))


def _fitted(found: Sequence[MoveChoice], strength: float) -> dict[Key, float]:
    """Return the additions to costs, in nats, under which the choices are likeliest, the prior included."""
    names = sorted({key for choice in found for keys in choice.features for key in keys})
    data = _Data.of(found, {key: i for i, key in enumerate(names)})
    weights = _minimum(lambda at: data.gradient(at) + strength * at, len(names))
    return {key: -float(weight) for key, weight in zip(names, weights, strict=True) if abs(weight) > _NEGLIGIBLE}


def _minimum(gradient: Callable[[Vector], Vector], count: int) -> Vector:
    """Return where a smooth, strictly convex function is least, by gradient descent with two-point steps.

    J. Barzilai, J. Borwein, "Two-point step size gradient methods", IMA J. Numerical Analysis 8 (1988).
    """
    at: Vector = np.zeros(count)
    slope = gradient(at)
    step = _FIRST_STEP
    for _ in range(_MOST_STEPS):
        if float(np.abs(slope).max(initial=0.0)) < _FLAT:
            break
        following = at - step * slope
        slope_there = gradient(following)
        moved, turned = following - at, slope_there - slope
        at, slope = following, slope_there
        step = float(moved @ moved) / float(moved @ turned)  # convexity: positive
    return at


@dataclass(slots=True)
class _Data:
    """All choices as flat arrays: a row for each move, which choice it belongs to, and its features."""

    offsets: Vector
    group: Indices
    rows: Indices
    columns: Indices
    made: Indices
    weight: Vector
    count: int

    @staticmethod
    def of(found: Sequence[MoveChoice], place: dict[Key, int]) -> _Data:
        offsets: list[float] = []
        group: list[int] = []
        rows: list[int] = []
        columns: list[int] = []
        made: list[int] = []
        weight: list[float] = []
        for number, choice in enumerate(found):
            for index, (cost, keys) in enumerate(zip(choice.costs, choice.features, strict=True)):
                row = len(offsets)
                offsets.append(-cost)
                group.append(number)
                rows += [row] * len(keys)
                columns += [place[key] for key in keys]
                if index in choice.made:
                    made.append(row)
                    weight.append(choice.weight)
        return _Data(
            np.array(offsets), np.array(group), np.array(rows), np.array(columns), np.array(made), np.array(weight),
            len(place),
        )  # fmt: skip

    def gradient(self, weights: Vector) -> Vector:
        """Return the gradient of the negative log-likelihood of the moves that were made."""
        count = len(self.offsets)
        scores = np.exp(self.offsets + np.bincount(self.rows, weights[self.columns], count))
        share = scores / np.bincount(self.group, scores)[self.group]
        events = np.bincount(self.group[self.made], self.weight, int(self.group[-1]) + 1)
        surplus = share * events[self.group] - np.bincount(self.made, self.weight, count)
        result: Vector = np.bincount(self.columns, surplus[self.rows], self.count).astype(np.float64)
        return result
