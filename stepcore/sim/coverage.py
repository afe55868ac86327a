"""Data on which conditions go both ways: a program may differ from its reference only where no number drawn was.

A function with ``where(x > 100, 0, x)`` is the identity on what is usually drawn. So the conditions of the reference
and of each program that is right are noted (:mod:`stepcore.sim.conditions`), and data are drawn on which they go the
other way: numbers at and around the constants that they meet, then larger ones and ones of other signs, and numbers all
of which are on one side of a constant. A program has to be right on those that show something new; a condition that
went one way only is told beside the verdict.

Everything follows from constants and seeds, also where the search ends: work is counted, and no time. Data of which a
result of the reference is not finite, although it was on the data drawn, do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, TypeAlias

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Comparison, UntestedCondition
from stepcore.graph.ir import Port
from stepcore.records import Record
from stepcore.sim.conditions import NOWHERE, ConditionSeen, Key, Noting, Way
from stepcore.sim.draw import seeded, whole_limits
from stepcore.sim.flow import Working
from stepcore.sim.runs import runs_within
from stepcore.sim.strength import Recipe, as_finite, not_on, redraw, redrawable
from stepcore.sim.world import World
from stepcore.sim.written import LARGEST
from stepcore.text.wording import counted
from stepcore.types import components

Run: TypeAlias = Callable[[World], Comparison]
Note: TypeAlias = Callable[[World], Noting]

_MOST_CONSTANTS: Final = 12
_LARGE: Final = 1e5  # constants from here on take the place of one number only: sums would be nothing but them
_DEPTH: Final = 2  # operations that are undone
_MOST_LARGE: Final = 4
_MOST_PLACED: Final = 192
_MOST_SIDES: Final = 6  # constants of which all numbers are put on one side
_SHARE: Final = 2  # one of so many numbers is replaced
_SEED: Final = 6101  # of data at constants; each turn takes the next one, and other constants
_TURNS: Final = 8
_SIDED: Final = Recipe(6197)
_SPREADS: Final = (
    Recipe(6133, 8.0, True),
    Recipe(6143, 64.0, True),
    Recipe(6151, 1024.0, True),
    Recipe(6163, 1024.0),
)


class Wrong(Record):
    """How a program differs from its reference on data that a condition asked for: ``text`` says which."""

    text: str
    found: Comparison


class Covered(Record):
    """What the conditions of a program and its reference say of it: that it is ``wrong``, or what stays untested."""

    wrong: Wrong | None = None
    conditions: tuple[UntestedCondition, ...] = ()


@dataclass(slots=True)
class _Conditions:
    """What was seen so far of the conditions of a reference (side 0) and a program (side 1)."""

    seen: dict[tuple[int, Key], ConditionSeen] = field(default_factory=dict)

    def add(self, side: int, found: Mapping[Key, ConditionSeen]) -> None:
        for key, each in found.items():
            known = self.seen.get((side, key))
            if known is None:
                self.seen[side, key] = copy(each)
            else:
                known.add(each)

    def adds(self, side: int, found: Mapping[Key, ConditionSeen]) -> bool:
        """Whether a condition goes a way that was not seen before."""
        return any(each.ways & ~self._ways(side, key) for key, each in found.items())

    def _ways(self, side: int, key: Key) -> Way:
        known = self.seen.get((side, key))
        return NOWHERE if known is None else known.ways

    @property
    def sought(self) -> bool:
        return any(each.sought for each in self.seen.values())

    @property
    def bounds(self) -> list[float]:
        """The constants that conditions meet, those of conditions that went one way first."""
        found: dict[float, None] = {}
        for each in sorted(self.seen.values(), key=lambda each: not each.notes):
            if each.sought:
                found.update(dict.fromkeys(sorted(each.bounds)))
        return [each for each in found if abs(each) <= LARGEST][:_MOST_CONSTANTS]

    @property
    def between(self) -> list[float]:
        """The middles between neighbouring constants of all conditions, those that lie closest to each other first.

        There one condition goes another way than the next, and data that are drawn hardly ever lie there.
        """
        closest = sorted(pairwise(sorted(self.met)), key=lambda pair: pair[1] - pair[0])
        return [(low + high) / 2 for low, high in closest[:_MOST_CONSTANTS]]

    @property
    def met(self) -> frozenset[float]:
        """The constants of all conditions."""
        return frozenset(bound for each in self.seen.values() for bound in each.bounds if abs(bound) <= LARGEST)

    @property
    def few(self) -> bool:
        """Whether a step gave two numbers at most: its argument may have been multiplied by something small."""
        return any(Way.MANY in each.sought for each in self.seen.values())

    @property
    def hidden(self) -> frozenset[float]:
        """The constants beside numbers that leave torch: which way conditions on these go is not seen."""
        return frozenset().union(*(each.bounds for each in self.seen.values() if each.kind == "number"))

    @property
    def notes(self) -> tuple[UntestedCondition, ...]:
        """What is said of conditions that went one way only, each once: the program's where both have it."""
        found = {note.note: note for each in self.seen.values() for note in each.notes}
        return tuple(found.values())


@dataclass(slots=True)
class _Data:
    """Other data, and what to call them. ``usable`` tells whether the reference gives results there that count."""

    text: str
    world: World
    usable: bool = True
    _seen: Mapping[Key, ConditionSeen] | None = None

    @property
    def seen(self) -> Mapping[Key, ConditionSeen]:
        """The conditions of the reference on these data."""
        if self._seen is None:
            noting = Noting(self.world.drawn, self.world.limits, python=self.world.python)
            with self.world.noted(noting), noting:
                self.world.compute_references()
            self._seen = noting.seen
        return self._seen


@dataclass(slots=True)
class Coverage:
    """The conditions of one reference on its data; ``world`` is in fp64. What is drawn is drawn once.

    ``work`` is that of one run of the reference.
    """

    world: World
    reference: Noting
    work: int
    _made: dict[tuple[object, ...], _Data] = field(default_factory=dict)

    @property
    def decides(self) -> bool:
        """Whether the reference holds conditions."""
        return bool(self.reference.seen)

    def judge(self, drawn: World, run: Run, note: Note) -> Covered:
        """Judge a program that is right on ``drawn``.

        Args:
            drawn: the data of its run.
            run: compares it with its reference on other data; raises :class:`SimError` where it cannot be run there.
            note: runs it again on data on which it ran, and returns the conditions that it met.

        Raises:
            SimError: it fails on data on which the reference does not.
        """
        return _Judging(self, drawn, run, note).judge()

    def data(self, key: tuple[object, ...], text: str, base: World, make: Callable[[], World]) -> _Data:
        """Return the data of ``key``, made once. They count where the reference is as finite as on ``base``."""
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = _Data(text, make())
            try:
                pairs = zip(known.world.references(), base.references(), strict=True)
                known.usable = all(as_finite(found, before) for found, before in pairs)
            except SimError:
                known.usable = False
        return known


@dataclass(slots=True)
class _Judging:
    """See :meth:`Coverage.judge`."""

    of: Coverage
    drawn: World
    run: Run
    note: Note
    conditions: _Conditions = field(default_factory=_Conditions)

    def judge(self) -> Covered:
        """Try data after data, while there is something that they may show."""
        own, reference = self.note(self.drawn), self.of.reference
        conditions = self.conditions
        conditions.add(0, reference.seen)
        conditions.add(1, own.seen)
        distinct = own.orders or reference.orders
        numbers = sorted(own.numbers | reference.numbers | conditions.hidden)[:_MOST_CONSTANTS]
        if conditions.sought and conditions.bounds:
            wrong = self._quickly(
                _around(conditions.bounds, numbers if conditions.few or conditions.hidden else (), conditions.between),
                distinct,
            )
            if wrong is not None:
                return Covered(wrong)
        most = self._most() if self._is_open() else 0
        for tried, data in enumerate(self._stronger(numbers, distinct)):
            if tried >= most:
                return Covered(None, (*conditions.notes, *(_ended(each, tried) for each in conditions.notes[:1])))
            wrong = self._on(data) if data.usable else None
            if wrong is not None:
                return Covered(wrong)
        return Covered(None, conditions.notes)

    def _is_open(self) -> bool:
        return bool(self.conditions.hidden or self.conditions.notes)

    def _most(self) -> int:
        """Return how many data may be tried. Counting takes a run of its own, which few programs need."""
        working = Working()
        with working:
            self.note(self.drawn)
        return runs_within(self.of.work + 2 * working.work)  # a program runs again to note its conditions

    def _quickly(self, pool: Sequence[float], distinct: bool) -> Wrong | None:
        """Try inputs at constants in the precision of the run, with the parameters as they are.

        Everything is compiled for these; most programs get no further.
        """
        parameters = self.drawn.parameters
        data = self._at(pool, 0, distinct, base=self.drawn)
        if not data.usable:
            return None
        if self.run(data.world).ok:
            if self._is_open():
                self._learn(data)
            return None
        placed = {
            name: [t.to(torch.float64) if t.is_floating_point() else t for t in tensors]
            for name, tensors in data.world.drawn.items()
            if name not in parameters
        }
        precise = self.of.data(
            (data.text, "precise"), data.text, self.of.world, lambda: self._varied({**self.of.world.drawn, **placed})
        )
        return self._on(precise) if precise.usable else None

    def _on(self, data: _Data) -> Wrong | None:
        """Judge the program on data that count where a condition goes another way there."""
        found = self.run(data.world)
        if found.ok:
            self._learn(data)
            return None
        conditions = self.conditions
        if conditions.hidden or conditions.adds(0, data.seen) or conditions.adds(1, self.note(data.world).seen):
            return Wrong(not_on(data.text), found)
        return None

    def _learn(self, data: _Data) -> None:
        self.conditions.add(0, data.seen)
        self.conditions.add(1, self.note(data.world).seen)

    def _stronger(self, numbers: Sequence[float], distinct: bool) -> Iterator[_Data]:
        """Yield data one after the other, while a condition went one way only."""
        conditions = self.conditions
        bounds = conditions.bounds
        pool = _around(bounds, numbers, conditions.between)
        for turn in range(_TURNS):
            if pool and self._is_open():
                yield self._at(pool, turn, distinct)
        for recipe in (*_SPREADS, *_towards(bounds)):
            if self._is_open():
                yield self._spread(recipe)
        for bound in _sides(conditions.met, numbers):
            for sign in (1, -1):
                if self._is_open():
                    yield self._beyond(bound, sign)
        if self._is_open() and not distinct:
            yield self._at((0.0,), 0, distinct, share=1)

    def _spread(self, recipe: Recipe) -> _Data:
        world = self.of.world
        now = world.drawn

        def redrawn(name: str) -> Sequence[Tensor]:
            return redraw(world.ports[name], now[name], world.bindings, recipe, alone=False)

        make = lambda: self._varied({name: redrawn(name) for name in now})  # noqa: E731
        return self.of.data((recipe,), recipe.text, world, make)

    def _beyond(self, bound: float, sign: int) -> _Data:
        """Return data all of which are above ``bound``, or below it where ``sign`` is negative.

        What is asked of all numbers at once (``(x < 0).any()``, ``x.min() > 1``) goes one way on most other data.
        """
        world = self.of.world
        make = lambda: self._varied(_sided(world, bound, sign))  # noqa: E731
        return self.of.data((bound, sign), f"all numbers {'above' if sign > 0 else 'below'} {bound:g}", world, make)

    def _at(
        self, pool: Sequence[float], turn: int, distinct: bool, *, share: int = _SHARE, base: World | None = None
    ) -> _Data:
        """Return data at constants: of ``base`` with its parameters, else all in fp64."""
        world = base or self.of.world

        def make() -> World:
            with torch.inference_mode():
                placed = _placed(world, pool, turn, distinct, share)
            if base is None:
                return self._varied(placed)
            return base.beside({name: tensors for name, tensors in placed.items() if name not in base.parameters})

        shown = ", ".join(f"{each:g}" for each in pool[:3]) + (", ..." if len(pool) > 3 else "")
        key = (tuple(pool), turn, distinct, share, base is None)
        return self.of.data(key, f"with numbers like {shown}", world, make)

    def _varied(self, data: Mapping[str, Sequence[Tensor]]) -> World:
        with torch.inference_mode():
            return self.of.world.varied(data)


def _ended(first: UntestedCondition, tried: int) -> UntestedCondition:
    text = f"the search for numbers at which conditions go the other way ended after {counted(tried, 'try', 'tries')}"
    return replace(first, note=f"{text}: a run takes more operations than leave time for all")


def _around(bounds: Iterable[float], numbers: Sequence[float], between: Iterable[float]) -> tuple[float, ...]:
    """Return numbers at, ``between`` and around constants; inputs are added to or multiplied by ``numbers`` before."""
    given = dict.fromkeys(bounds)
    found = given | dict.fromkeys(between)
    before: Iterable[float] = given
    for _ in range(_DEPTH):
        before = dict.fromkeys(each for bound in before for number in numbers for each in _undone(bound, number))
        found.update(before)
    for bound in given:
        step = max(abs(bound), 1.0) / 256
        beside = (bound + step, bound - step, bound + 1, bound - 1, 1.5 * bound, -bound, -1.5 * bound)
        found.update(dict.fromkeys(beside))
    found.update(dict.fromkeys(numbers))
    return tuple(each for each in found if abs(each) <= LARGEST)[:_MOST_PLACED]


def _undone(bound: float, number: float) -> tuple[float, ...]:
    """Return what meets ``bound`` after ``number`` was added, subtracted or multiplied by."""
    return (bound - number, bound + number, *((bound / number,) if number else ()))


def _towards(bounds: Sequence[float]) -> list[Recipe]:
    """Return data as far apart as the largest constants."""
    far = max((abs(each) for each in bounds), default=0.0)
    return [Recipe(6173, 4 * far, True)] if 1024 < far <= _LARGE else []


def _sides(bounds: Iterable[float], numbers: Sequence[float]) -> list[float]:
    """Return the constants to put all numbers on one side of, those next to 0 first, and 0 itself always.

    Beside large ones nothing would be left of what makes one number another.
    """
    near = sorted({*bounds, 0.0}, key=lambda bound: (abs(bound), bound))
    scaled = (bound / number for bound in near for number in numbers if number)
    moved = (each for bound in near for number in numbers for each in (bound - number, bound + number))
    found = dict.fromkeys(each for each in (*near, *scaled, *moved) if abs(each) < _LARGE)
    return list(found)[:_MOST_SIDES]


def _sided(world: World, bound: float, sign: int) -> dict[str, Sequence[Tensor]]:
    """Return other data, all of which are on one side of ``bound``; whole numbers as far as their limits let them."""

    def sided(_name: str, port: Port, new: Tensor) -> Tensor:
        if new.dtype == torch.bool:
            return new
        if new.is_floating_point():
            return bound + sign * new.abs()
        return (int(bound) + sign * (new.abs() + 1)).clamp(*whole_limits(port))

    return _redrawn(world, _SIDED, sided)


def _redrawn(
    world: World, recipe: Recipe, change: Callable[[str, Port, Tensor], Tensor]
) -> dict[str, Sequence[Tensor]]:
    """Return other data, drawn by ``recipe`` and changed then, of what may hold numbers of any kind."""
    found: dict[str, Sequence[Tensor]] = {}
    for name, now in world.drawn.items():
        port = world.ports[name]
        redrawn = redraw(port, now, world.bindings, recipe, alone=False)
        found[name] = [
            change(name, port, new.to(old.dtype)) if redrawable(port, item) else old
            for item, new, old in zip(components(port.type.element), redrawn, now, strict=True)
        ]
    return found


def _placed(world: World, pool: Sequence[float], turn: int, distinct: bool, share: int) -> dict[str, Sequence[Tensor]]:
    """Return other data, of which one number of ``share`` is from ``pool``; with ``distinct`` each only once.

    Large numbers are placed once each, of one sign, in one input: sums would be nothing but the rest of them.
    """
    sign = -1 if turn % 2 else 1
    small = [each for each in pool if abs(each) < _LARGE]
    large = [each for each in pool if abs(each) >= _LARGE and each * sign > 0][:_MOST_LARGE]
    names = [name for name, port in world.ports.items() if redrawable(port)]

    def filled(name: str, port: Port, new: Tensor) -> Tensor:
        is_chosen = bool(names) and name == names[turn % len(names)]
        filling = _Filling(tuple(small), tuple(large) if is_chosen else (), turn, distinct, share, whole_limits(port))
        return filling.of(new)

    with seeded(_SEED + turn):
        return _redrawn(world, Recipe(_SEED + turn), filled)


class _Filling(Record):
    """See :func:`_placed`; whole numbers stay within ``limits``."""

    small: tuple[float, ...]
    large: tuple[float, ...]
    turn: int
    distinct: bool
    share: int
    limits: tuple[int, int]

    def of(self, tensor: Tensor) -> Tensor:
        """Return ``tensor`` with other numbers at random places."""
        if tensor.dtype == torch.bool or not tensor.numel():
            return tensor
        count = max(1, tensor.numel() // self.share)
        chosen = self._chosen(count) if tensor.is_floating_point() else self._whole(count)
        if not chosen:
            return tensor
        result = tensor.clone().reshape(-1)
        places = torch.randperm(result.numel())[: len(chosen)]
        result[places] = torch.tensor(chosen, dtype=torch.float64).to(result.dtype)
        return result.reshape(tensor.shape)

    def _whole(self, count: int) -> list[float]:
        low, high = self.limits
        return self._turned([each for each in self.small if each == int(each) and low <= each <= high], count)

    def _chosen(self, count: int) -> list[float]:
        large = list(self.large[:count])
        return large + self._turned(list(self.small), count - len(large))

    def _turned(self, values: list[float], count: int) -> list[float]:
        """Return ``count`` of ``values``, from another on at each turn; if ``distinct`` each once."""
        if not values:
            return []
        start = self.turn * count % len(values)
        turned = values[start:] + values[:start]
        return (turned if self.distinct else turned * (count // len(turned) + 1))[:count]
