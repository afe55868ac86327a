"""Plans for the results of a function: which loops are innermost, which stand inside elements, what is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as combinations
from math import prod
from typing import Final

from stepagents.lower.affine import Axis, BoundSizes, NeedSplit, NotAffine, ProgramTooLarge, Splits
from stepagents.lower.costs import Costs, costs_of
from stepagents.lower.emit import HostResult
from stepagents.lower.planner import MOST_POSITIONS, Planner, Style
from stepagents.lower.program import PlannedProgram, unit_axis
from stepagents.lower.values import Padded, Value, zero_fill
from stepagents.lower.views import zeros
from stepcore.records import Record
from stepcore.sizes.dim import Dim

_MOST_SPLITS: Final = 16
_MOST_ORDERS: Final = 24
_MANY_STEPS: Final = 40  # of a program: fewer orders are tried then
_FEW_ORDERS: Final = 6
_LARGEST_TILE: Final = 16
_TILED_FROM: Final = 3  # plans that tiles are tried on
_LEAST_TILES: Final = 4  # of a result: fewer would be the whole tensor in one element
_STYLES: Final = tuple(Style(reread, share) for reread, share in combinations((True, False), repeat=2))


class LoweringPlan(Record):
    """One way to lower.

    ``inner`` are the dimensions of the results whose loops are innermost; ``tiles`` are (dimension, size) of the tiles
    that elements hold.
    """

    style: Style
    inner: tuple[int, ...] = ()
    tiles: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """The plan for people."""
        words = ["read again" if self.style.reread else "buffered", "shared" if self.style.share else "computed again"]
        if self.inner:
            words.append(f"dimensions {', '.join(map(str, self.inner))} innermost")
        words += [f"tiles of {size} along dimension {place}" for place, size in self.tiles]
        return ", ".join(words)


class Planned(Record):
    """A program for a plan, the loops of its results, and its costs."""

    plan: LoweringPlan
    program: PlannedProgram
    results: tuple[HostResult, ...]
    costs: Costs


class Problems:
    """Why plans failed: the first error for each reason."""

    def __init__(self) -> None:
        self.found: dict[str, NotAffine] = {}

    def add(self, error: NotAffine) -> None:
        """Note one failure."""
        self.found.setdefault(str(error), error)

    @property
    def too_large(self) -> bool:
        """Whether one was about size."""
        return any(isinstance(error, ProgramTooLarge) for error in self.found.values())


def all_plans(
    results: Sequence[Value],
    sizes: BoundSizes,
    problems: Problems,
    smallest: BoundSizes | None = None,
    positions: int = MOST_POSITIONS,
) -> list[Planned]:
    """Return a program for every plan that works, best first; equal ones may be among them.

    ``sizes`` are those of the trace; ``smallest`` are those at which programs will run at least, if these are others;
    there a stream has at most ``positions`` elements.
    """
    search = _Search(results, sizes, problems, smallest or sizes, positions)
    found = [planned for plan in search.plain() if (planned := search.tried(plan))]
    found.sort(key=_score)
    least = found[0].costs.again if found else 0
    for base in found[:_TILED_FROM]:
        for tiles in search.tilings():
            planned = search.tried(LoweringPlan(base.plan.style, base.plan.inner, tiles))
            # A tile cannot be shared with what takes single numbers: no tile where the host would stream more for it.
            if planned is not None and planned.costs.again <= least:
                found.append(planned)
    found.sort(key=_score)
    return found


def _score(planned: Planned) -> float:
    return planned.costs.score


class _Search:
    """The plans for some results. Loops that one plan had to split are split for all others from the start."""

    def __init__(
        self, results: Sequence[Value], sizes: BoundSizes, problems: Problems, least: BoundSizes, most: int
    ) -> None:
        self._results = results
        self._sizes = sizes
        self._least = least
        self._most = most
        self._problems = problems
        self._splits = Splits()

    def plain(self) -> Iterator[LoweringPlan]:
        """Yield plans without tiles; fewer where programs are large."""
        rank = max((len(value.shape) for value in self._results), default=0)
        subsets = sorted(range(1 << rank), key=lambda bits: (bits.bit_count(), bits))
        orders = [tuple(place for place in range(rank) if bits >> place & 1) for bits in subsets]
        # The last few dimensions are the innermost anyway.
        orders = [order for order in orders if not order or order[0] != rank - len(order)][:_MOST_ORDERS]
        first = next((found for style in _STYLES if (found := self.tried(LoweringPlan(style)))), None)
        if first is None and self._problems.too_large:
            return
        steps = 0 if first is None else len(first.program.steps)
        if steps > _MANY_STEPS:
            orders = orders[: max(1, _FEW_ORDERS * _MANY_STEPS // steps)]
        for order in orders:
            for style in _STYLES:
                yield LoweringPlan(style, order)

    def tilings(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """Yield tiles of one dimension and of pairs, for functions with one result."""
        if len(self._results) != 1:
            return
        shape = self._results[0].shape
        most = prod(self._sizes.of(size) for size in shape) // _LEAST_TILES
        options = [(place, tile) for place, size in enumerate(shape) if (tile := self._tile(place, size))]
        yield from ((option,) for option in options if option[1] <= most)
        pairs = ((one, other) for number, one in enumerate(options) for other in options[number + 1 :])
        yield from (pair for pair in pairs if pair[0][1] * pair[1][1] <= most)

    def _tile(self, place: int, size: Dim) -> int:
        """Return the tile of a dimension, 0 where there is none: where its loop is two, the inner one."""
        inner = self._splits.inner(("result", 0, place))
        if inner is None:
            return _tile(size)
        return inner.constant if inner.constant is not None and inner.constant <= _LARGEST_TILE else 0

    def tried(self, plan: LoweringPlan) -> Planned | None:
        """Build the program of ``plan``; a loop that has to be two is split and everything is planned again."""
        splits = self._splits
        if plan.tiles:
            splits = Splits(splits)
            for place, tile in plan.tiles:
                key = ("result", 0, place)
                if key in splits:
                    if splits.inner(key) != tile:  # in another way, which a tile would have to fit
                        return None
                elif self._sizes.of(self._results[0].shape[place]) > tile:
                    splits.add(NeedSplit(key, Dim.of(tile)))
        for _ in range(_MOST_SPLITS):
            planner = Planner(self._sizes, splits, plan.style, self._least, self._most)
            try:
                pairs = enumerate(self._results)
                found = tuple(_deliver(value, number, plan, planner, splits) for number, value in pairs)
            except NeedSplit as need:
                splits.add(need)
            except NotAffine as error:
                self._problems.add(error)
                return None
            else:
                planner.program.prune()
                return Planned(plan, planner.program, found, costs_of(planner.program, self._sizes))
        self._problems.add(NotAffine("the loops would have to be split too often"))
        return None


def _tile(size: Dim) -> int:
    """Return the largest fixed tile that divides ``size`` whatever it is bound to, 0 where there is none."""
    number = size.constant
    if number is None:
        return 0
    return next((tile for tile in range(min(_LARGEST_TILE, number), 1, -1) if number % tile == 0), 0)


def _deliver(value: Value, number: int, plan: LoweringPlan, planner: Planner, splits: Splits) -> HostResult:
    tiled = {place for place, _ in plan.tiles}
    indices = []
    dims: list[tuple[Axis, ...]] = []
    outer: list[Axis] = []
    inner: list[Axis] = []
    tile: list[Axis] = []
    sizes = value.shape
    value = _grown(value, number, splits)
    for place, size in enumerate(value.shape):
        key = ("result", number, place)
        index, axes = splits.loops(f"d{place}", size, key)
        indices.append(index)
        dims.append(axes)
        within = [axis for axis in axes if place in tiled and (axis.key == key or _under(axis.key, (key, "i")))]
        tile += within
        (inner if place in plan.inner else outer).extend(axis for axis in axes if axis not in within)
    if not set(tile) <= planner.needs(value, tuple(indices)):
        raise NotAffine("a tile would hold the same number several times")
    order = [*reversed(inner), *reversed(outer)] or [unit_axis()]
    planner.deliver(value, tuple(indices), order, list(reversed(tile)))
    return HostResult(f"S{number}", tuple(dims), None if sizes == value.shape else sizes)


def _grown(value: Value, number: int, splits: Splits) -> Value:
    """Return a result with zeros behind it where its loops are longer than its dimensions."""
    more = [splits.more(("result", number, place)) for place in range(len(value.shape))]
    if not any(more):
        return value
    shape = [size + extra for size, extra in zip(value.shape, more, strict=True)]
    return Padded(value, tuple(shape), zeros(len(shape)), zero_fill(value.dtype))


def _under(key: object, root: object) -> bool:
    """Whether the loop ``key`` is ``root`` or a part of it."""
    while key != root:
        if not isinstance(key, tuple) or len(key) != 2:
            return False
        key = key[0]
    return True
