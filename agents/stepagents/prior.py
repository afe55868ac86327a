"""From experience to a prior over the moves of the search: a cost model that prefers what programs that work did.

Every stream of a program was a choice: of all moves that its type allows, some were made. The model is a conditional
logit over these choices with the present costs as its offset; its features are a move and one trait of it each (see
:mod:`stepagents.search.traits`), its penalty is a Gaussian prior on what experience may add. Loads torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from torch import Tensor

from stepagents.experience.identity import UnusableProgram, checked_program, task_key
from stepagents.sampling import Experience
from stepagents.search.costs import CostModel, Key
from stepagents.search.items import Item, parts
from stepagents.search.moves import Move, Moves, Stream
from stepagents.search.space import Space
from stepagents.search.traits import move_traits
from stepagents.search.unary import layout_moves
from stepcore.dim import DimError
from stepcore.ops.accum import Accum
from stepcore.ops.base import Operand, Operator, RuleError, TypingContext
from stepcore.ops.map import Map
from stepcore.ops.promote import Promote
from stepcore.ops.scan import Scan
from stepcore.types import StreamType

STRENGTH: Final = 1.0  # precision of the prior on a learned weight: the larger, the less is learned
_STEPS: Final = 60

_Ways: TypeAlias = tuple[str, tuple[Operator, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
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
    teaches nothing.
    """
    base = base or CostModel()
    found = list(choices(experiences, base))
    return base if not found else base.with_learned(_fitted(found, strength))


def choices(experiences: Sequence[Experience], base: CostModel) -> Iterator[Choice]:
    """Yield the choices that the programs made."""
    programs = Counter(task_key(experience.task_text) for experience in experiences)
    for experience in experiences:
        try:
            task, checked = checked_program(experience.task_text, experience.task, experience.impl)
        except UnusableProgram:
            continue
        assert task.spec is not None
        space = Space.of(task.spec, task.spec.bindings())
        found = Moves(checked.graph, space)
        moves = [move for move in found.moves if (move.name,) in base.table]  # the search makes no others
        for stream in found.streams:
            made = [move for move in moves if move.source.index == stream.index]
            if made:
                yield _choice(stream, made, space, base, 1.0 / programs[task_key(experience.task_text)])


def _choice(stream: Stream, made: Sequence[Move], space: Space, base: CostModel, weight: float) -> Choice:
    results: dict[_Ways, StreamType] = {(move.name, move.ops): move.result for move in made}
    for way in _ways(stream, space, base):
        result = _result(way[1], stream, space)
        if result is not None:
            results.setdefault(way, result)
    costs, features = [], []
    for (name, ops), result in results.items():
        fn = next((op.fn for op in ops if hasattr(op, "fn")), None)
        traits = move_traits(stream.type, stream.made_by, result, space, fn)
        costs.append(base(name, stream.made_by))
        features.append(tuple(base.features(name, traits)))
    return Choice(tuple(costs), tuple(features), tuple(range(len(made))), weight)


def _ways(stream: Stream, space: Space, base: CostModel) -> Iterator[_Ways]:
    """Yield the moves that the search would consider on a stream, as far as types tell."""
    item = Item(0, stream.type, [], None, 0, 0.0, move=stream.made_by)
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


def _result(ops: Sequence[Operator], stream: Stream, space: Space) -> StreamType | None:
    """Return the type that a move gives, as if it had all its arguments; None where it is impossible."""
    kind, context = stream.type, TypingContext(dict(space.bindings))
    try:
        for op in ops:
            fn = getattr(op, "fn", None)
            element = fn.input if fn is not None else kind.element
            (kind,) = op.infer([Operand(StreamType(element, kind.shape))], context)
    except (RuleError, DimError):
        return None
    return kind


def _fitted(found: Sequence[Choice], strength: float) -> dict[Key, float]:
    """Return the weights (costs to add, in nats) that make the choices likely."""
    names = sorted({key for choice in found for keys in choice.features for key in keys})
    place = {key: i for i, key in enumerate(names)}
    data = _Data.of(found, place)
    weights = torch.zeros(len(names), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = data.loss(weights) + 0.5 * strength * (weights * weights).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    with torch.enable_grad():
        optimizer.step(loss)  # type: ignore[no-untyped-call]
    return {key: -float(weight) for key, weight in zip(names, weights.detach(), strict=True) if abs(weight) > 1e-4}


@dataclass(slots=True)
class _Data:
    """All choices as flat tensors: a row for each move, which choice it belongs to, and its features."""

    offsets: Tensor
    group: Tensor
    groups: int
    rows: Tensor
    columns: Tensor
    made: Tensor
    weight: Tensor

    @staticmethod
    def of(found: Sequence[Choice], place: dict[Key, int]) -> _Data:
        offsets, group, rows, columns, made, weight = [], [], [], [], [], []
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
            torch.tensor(offsets, dtype=torch.float64), torch.tensor(group), len(found), torch.tensor(rows),
            torch.tensor(columns), torch.tensor(made), torch.tensor(weight, dtype=torch.float64),
        )  # fmt: skip

    def loss(self, weights: Tensor) -> Tensor:
        """Return the negative log-likelihood of the moves that were made."""
        scores = self.offsets.index_add(0, self.rows, weights[self.columns])
        total = torch.zeros(self.groups, dtype=torch.float64).index_add(0, self.group, scores.exp())
        return -((scores - total.log()[self.group])[self.made] * self.weight).sum()
