"""What is known of a mixture before a schedule is chosen, and the points of the space. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from typing import TYPE_CHECKING, Final

from stepagents.schedules.indices import IndexedValue, whole_index
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart, shape_of
from stepagents.schedules.routed.added import always_of, residual_of
from stepagents.schedules.routed.experts import Expert, ExpertBlock, ExpertTensor, experts_of, rows_block
from stepagents.schedules.routed.mixture import Mixture, mixture_of
from stepagents.schedules.routed.router import Router, RowFunction, router_of
from stepagents.schedules.tile_ops import TileBody
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction


SCORED: Final = (128, 64, 32, 16, 8, 4, 2, 1)  # rows that are scored at a time
_FEW: Final = 16  # of them, which a router of few experts scores at a time, too


class MixturePoint(Record):
    """One point of the space: columns of a tile of weights, rows of a static tile (0: dynamic), experts of a region.

    ``dispatch`` are the bursts per cycle of each port, None where the chip's do.
    """

    columns: int
    rows: int = 0
    shared: int = 1
    dispatch: int | None = None

    @property
    def text(self) -> str:
        """The schedule in a line for people."""
        tiles = f"static tiles of {self.rows} rows" if self.rows else "all rows of an expert as one dynamic tile"
        shared = f", {self.shared} experts in turn in one region" if self.shared > 1 else ""
        return f"mixture of experts: {tiles}{shared}; tiles of weights TF={self.columns}"


class MixturePlan(Record):
    """A mixture with the functions of its router and its experts; ``scorer`` is the product that scores rows.

    ``taken`` are the rows that experts multiply; ``always`` are experts that every row goes to, ``residual`` adds what
    no expert computes. ``bound`` are all sizes.
    """

    mixture: Mixture
    experts: tuple[Expert, ...]
    router: Router
    scorer: ExpertBlock | None
    taken: IndexedValue
    bound: Mapping[str, int]
    residual: RowFunction | None = None
    always: tuple[Expert, ...] = ()

    @property
    def first(self) -> Expert:
        """One of the experts: they compute the same."""
        return self.experts[0]

    @property
    def rows(self) -> Dim:
        """How many rows there are."""
        return prod((atom.size for atom in self.mixture.rows), start=Dim.of(1))

    @property
    def count(self) -> int:
        """How many experts there are."""
        return self.mixture.experts.bind(self.bound)

    @property
    def cut(self) -> Dim:
        """The columns of which tiles of weights have some: the hidden ones, else those of the result."""
        return cut_of(self.first)

    @property
    def width(self) -> int:
        """The columns of the rows that experts take."""
        return shape_of(self.taken.node)[-1].bind(self.bound)

    @property
    def is_stacked(self) -> bool:
        """Whether all experts' tensors lie one after the other, none is for all of them, and none comes last."""
        return self.first.outer.is_folded and all(self.places(each) for each in self.operands)

    @property
    def operands(self) -> tuple[tuple[ExpertTensor, ...], ...]:
        """The tensors of experts in the order in which units read them, each for all experts."""
        return tuple(zip(*(operands_of(each) for each in self.experts), strict=True))

    def places(self, operands: tuple[ExpertTensor, ...]) -> bool | None:
        """Return whether an operand lies in one tensor for all experts; None where they have tensors of their own."""
        nodes = {each.node for each in operands}
        if len(nodes) > 1:
            return None
        return operands[0].place is not None


def cut_of(expert: Expert) -> Dim:
    """Return the columns of which tiles of an expert's weights have some."""
    return (expert.outer if expert.hidden is None else expert.hidden).columns


def operands_of(expert: Expert) -> tuple[ExpertTensor, ...]:
    """Return the tensors of an expert: those of its first block, the one that folds it, those behind."""
    if expert.hidden is None or expert.down is None:
        return expert.outer.operands
    return (*expert.hidden.operands, expert.down, *expert.outer.operands)


def scored_at_once(plan: MixturePlan) -> int:
    """Return how many rows are scored at a time: so many that they divide the rows that follow one another.

    The router's weights are read again for each of these tiles, so they are as tall as a router has columns: then they
    take no more bytes than its weights, and half of what is read is rows.
    """
    rows = plan.mixture.rows
    last = rows[-1].size.bind(plan.bound) if rows else 1
    most = _FEW if plan.scorer is None else max(plan.scorer.columns.bind(plan.bound), _FEW)
    return next(each for each in SCORED if last % each == 0 and each <= most)


def scored_width(plan: MixturePlan) -> int | None:
    """Return the columns of rows whose scores may be sums of products of pieces of these; None where they may not.

    They may where one product scores rows of a tensor as it lies in memory.
    """
    scorer = plan.scorer
    if scorer is None or scorer.takes is None or len(scorer.products) != 1:
        return None
    rows = rows_body(plan, scorer.takes)
    if not rows.is_read or "r" not in rows.part.labels or rows.part.labels[-1] != WHOLE:
        return None
    return shape_of(scorer.takes.node)[-1].bind(plan.bound)


class RowsBody(Record):
    """How blocks of a tensor's rows are computed: ``text`` is what ``body`` gives for ``part`` of it."""

    part: TilePart
    body: TileBody
    text: str

    @property
    def is_read(self) -> bool:
        """Whether they are the rows of a tensor as it lies in memory."""
        return not self.body.lines and self.text == "input[0]"


def rows_body(plan: MixturePlan, value: IndexedValue) -> RowsBody:
    """Return how rows of a tensor are computed, as many at a time as are scored.

    Raises:
        NoSchedule: an operation has no form over tiles.
    """
    rows = set(plan.mixture.rows)
    labels = tuple("r" if index and set(index) <= rows else WHOLE for index in value.at)
    body = TileBody(Blocks({"r": Dim.of(scored_at_once(plan))}, plan.bound))
    part = TilePart(value.node, labels)
    return RowsBody(part, body, body.of(part))


def rows_of_all(plan: MixturePlan, point: MixturePoint) -> int:
    """Return the rows of a tile of an expert that every row goes to; 0 where it has all of them.

    With static tiles these divide the rows that are scored at a time, so that none is filled up.
    """
    return gcd(point.rows, scored_at_once(plan)) if point.rows else 0


def plan_of(traced: TracedFunction, bound: Mapping[str, int]) -> MixturePlan | None:
    """Return the plan of a mixture of experts; None for a function that chooses no experts.

    Raises:
        NoSchedule: it chooses experts, but has no routed program.
    """
    mixture = mixture_of(traced)
    if mixture is None:
        return None
    _check_count(mixture, bound)
    experts = experts_of(mixture)
    first = experts[0]
    block = first.hidden or first.outer
    assert block.takes is not None
    for own in zip(*(operands_of(each) for each in experts), strict=True):
        _check_places(own, mixture)
    router = router_of(mixture, bound)
    scorer = None
    if router.product is not None:
        column = whole_index("n", shape_of(router.product)[-1])
        scorer = rows_block(mixture, router.product, column)
    always, rest = always_of(mixture, block.takes)
    return MixturePlan(mixture, tuple(experts), router, scorer, block.takes, bound, residual_of(rest, bound), always)


def _check_count(mixture: Mixture, bound: Mapping[str, int]) -> None:
    """Raise where rows choose more experts than there are: ``k`` was the number that a size gave in the trace."""
    chosen, experts = mixture.choice.count, mixture.experts.bind(bound)
    if chosen > experts:
        what = f"topk takes {chosen} of {experts} experts: a k that follows a size has the number of another size here"
        raise NoSchedule(f"{what}; write it as a number", mixture.choice.node)


def _check_places(operands: tuple[ExpertTensor, ...], mixture: Mixture) -> None:
    """Raise where experts' tensors lie in another order than theirs."""
    places = [each.place for each in operands]
    in_order = all(isinstance(place, str) for place in places) or places == list(range(len(places)))
    if not in_order and any(place is not None for place in places):
        raise NoSchedule("the tensors of its experts lie in another order", mixture.node)
