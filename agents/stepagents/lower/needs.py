"""What elements depend on: through views, padding and folds down to the loops around them, with nothing built yet.

Where a place is no affine function of the loops, ``NotAffine`` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stepagents.lower.affine import Affine, Axis, BoundSizes, Index, NotAffine, Splits
from stepagents.lower.values import (
    Choice,
    Component,
    Fold,
    Literal,
    LoopState,
    Padded,
    Pointwise,
    Rounds,
    Running,
    Source,
    StateOf,
    Stuffed,
    Value,
    View,
)
from stepcore.records import Record

T = TypeVar("T")


class Leaf(Record):
    """A stream that an expression reads. ``fill`` and ``step`` are for sources."""

    value: Value
    index: Index
    fill: str = "0"
    step: tuple[int, ...] = ()


class Needs:
    """Answers for one set of split loops; each question is worked on once."""

    def __init__(self, sizes: BoundSizes, splits: Splits) -> None:
        self._sizes = sizes
        self._splits = splits
        self._heavy: dict[int, bool] = {}
        self._asked: dict[int, tuple[list[Affine], list[Axis]]] = {}
        self._known: dict[tuple[int, Index], frozenset[Axis]] = {}

    def of(self, value: Value, index: Index) -> frozenset[Axis]:
        """Return the loops that the element at ``index`` depends on; raises what makes it impossible."""
        key = (value.number, index)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find_needs(value, index)
        return found

    def _find_needs(self, value: Value, index: Index) -> frozenset[Axis]:
        match value:
            case Source() | Padded() | Stuffed():
                own = frozenset(axis for part in index for axis in part.axes())
                if isinstance(value, Source):
                    return own
                placed = self.placed(value, index)
                if placed is None:
                    return own | self._inner_needs(value, index)
                # A view below may read at a place of its own, such as the round of a loop over time.
                return own | {axis for part in placed.index for axis in part.axes()}
            case Literal():
                return frozenset()
            case View():
                return self.of(value.base, value.remap(index))
            case Pointwise():
                return frozenset().union(*(self.of(arg, index) for arg in value.args))
            case Component():
                return self.of(value.base, index)
            case Choice():
                return self.of(self.chosen(value, index), index)
            case Fold():
                # The same loops whenever it is asked about: what it depends on does not change with their identity.
                inner, axes = self._asked.get(value.number) or self.fold_loops(value)
                self._asked[value.number] = inner, axes
                found = frozenset().union(*(self.of(base, (*index, *inner)) for base in value.bases))
                return found - frozenset(axes)
            case Running():
                self.scanned(index)
                return self.of(value.base, index) | frozenset(index[-1].axes())
            case Rounds() | StateOf():
                return frozenset(axis for part in index for axis in part.axes())
            case LoopState():
                raise NotAffine("a state is read outside of its loop")
        raise TypeError(type(value).__name__)

    def _inner_needs(self, value: Padded | Stuffed, index: Index) -> frozenset[Axis]:
        if isinstance(value, Stuffed):
            raise NotAffine("zeros are put between elements of an intermediate result")
        return self.of(value.base, shifted(index, value))

    def chosen(self, value: Choice, index: Index) -> Value:
        """Return the first way to compute ``value`` that works at ``index``."""
        found, _ = first_working(value, lambda option: (option, self.of(option, index)))
        return found

    def scanned(self, index: Index) -> Axis:
        """Return the loop that a running result runs along."""
        last = index[-1]
        if len(last.terms) == 1 and last.terms[0][1] == 1 and last.const == 0:
            return last.terms[0][0]
        raise NotAffine("a running result is read in another order than it is computed in")

    def fold_loops(self, value: Fold) -> tuple[list[Affine], list[Axis]]:
        """Return new loops for what ``value`` folds: the indices that they make up, and the loops, outermost first."""
        shape = value.bases[0].shape
        indices: list[Affine] = []
        axes: list[Axis] = []
        for number, size in enumerate(shape[len(shape) - value.dims :]):
            index, loops = self._splits.loops(f"r{number}", size, ("fold", value.number, number))
            indices.append(index)
            axes += loops
        return indices, axes

    def placed(self, value: Padded | Stuffed, index: Index) -> Leaf | None:
        """Return the padded read that this is if the host can do it, None where a mask is needed."""
        fill = "0"
        step: tuple[int, ...] = ()
        current: Value = value
        if isinstance(current, Padded):
            fill = current.fill
            if self.inside(current, index):
                return None
            index = shifted(index, current)
            current = current.base
        if isinstance(current, Stuffed):
            step = current.step
            current = current.base
        bounds = list(zip(index, current.shape, strict=True))
        while isinstance(current, View):
            index = current.remap(index)
            current = current.base
        if not isinstance(current, Source):
            if step:
                raise NotAffine("zeros are put between elements of an intermediate result")
            return None
        reads = list(zip(index, current.shape, strict=True))
        if step and [size for _, size in bounds] != list(current.shape):
            raise NotAffine("zeros are put between elements of a view")
        risky = [bound for bound in bounds if step or not self._sizes.within(*bound)]
        if not all(bound in reads for bound in risky):
            return None
        return Leaf(current, index, fill, step)

    def inside(self, value: Padded, index: Index) -> bool:
        """Whether ``index`` never reaches the padding."""
        pairs = zip(shifted(index, value), value.base.shape, strict=True)
        return all(self._sizes.within(part, size) for part, size in pairs)

    def is_heavy(self, value: Value) -> bool:
        """Whether computing ``value`` again is more than reading inputs again."""
        found = self._heavy.get(value.number)
        if found is None:
            found = self._heavy[value.number] = self._find_heavy(value)
        return found

    def _find_heavy(self, value: Value) -> bool:
        match value:
            case Fold() | Running() | Component() | Rounds() | StateOf() | LoopState():
                return True
            case View() | Padded() | Stuffed():
                return self.is_heavy(value.base)
            case Pointwise():
                return any(self.is_heavy(arg) for arg in value.args)
            case Choice():
                return self.is_heavy(value.options[0])
        return False

    def straight(self, value: Value, index: Index) -> tuple[Value, Index]:
        """Return what a view or a choice comes to, which is neither."""
        match value:
            case View():
                return self.straight(value.base, value.remap(index))
            case Choice():
                return self.straight(self.chosen(value, index), index)
        return value, index


def first_working(value: Choice, work: Callable[[Value], T]) -> T:
    """Return what ``work`` makes of the first way to compute ``value`` that it can take.

    Raises:
        NotAffine: what it raised for the first one.
    """
    problem: NotAffine | None = None
    for option in value.options:
        try:
            return work(option)
        except NotAffine as error:
            problem = problem or error
    raise problem or NotAffine("Stepsmith knows no way to compute it")


def shifted(index: Index, value: Padded) -> Index:
    """Return the index into what is padded."""
    return tuple(part - low for part, low in zip(index, value.low, strict=True))
