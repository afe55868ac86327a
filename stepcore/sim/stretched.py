"""Numbers much larger and much smaller than those drawn: functions that agree near 1 only differ there.

``1000 * tanh(x / 1000)`` is ``x`` to the tolerance of a verdict on what is usually drawn, a norm without its epsilon
is one with it, and no condition tells them apart. So a right program runs on numbers 8 and 1024 times larger and a
million times smaller, too, with the parameters as they are: in the precision of the run, for which everything is
compiled, and in fp64 where it differs there by more than roundings usually make. A result counts where it and its
reference are finite, and where rounding does not explain how they differ: where either is far off in fp32, numbers
decide nothing.

What is stretched until it saturates holds equal numbers, and which of these is the largest is nobody's promise: where
either side asks for the place of the largest only small numbers count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from stepcore.findings.codes import Outcome, about
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Comparison
from stepcore.graph.ir import Port
from stepcore.records import Record
from stepcore.sim.compare import compare
from stepcore.sim.conditions import Noting
from stepcore.sim.draw import is_whole, selects
from stepcore.sim.nested import values_of
from stepcore.sim.runs import runs_within
from stepcore.sim.strength import DataKind, Recipe, as_finite, redraw, redrawable
from stepcore.sim.world import World
from stepcore.types import components, dtype_of

Columns: TypeAlias = Sequence[Sequence[Any]]
Results: TypeAlias = Callable[[World], Columns]

_SMALL: Final = Recipe(6203, 2.0**-20)
STRETCHES: Final = (Recipe(6211, 8.0, True), Recipe(6217, 1024.0, True), _SMALL)  # powers of two, exact in fp32
_BEYOND: Final = tuple(Recipe(6263, 2.0**power, True) for power in (12, 9, 6, 3))  # of fp16, the largest first
_ALIKE: Final = 256  # units of rounding by which a number, and
_SUMMED: Final = 8  # of the largest one by which any may differ in the precision of the run
_OF_RANGES: Final = (DataKind.ENDS, DataKind.ALIKE, DataKind.OTHERS)  # as may be drawn: no result may be missing there
_ROUNDING: Final = 2.0**16  # how much farther off a run in fp32 is where rounding explains a difference in fp64
_GARBAGE: Final = 0.05  # a part of the largest number; a run in fp32 that is this far off says nothing


class Unlike(Record):
    """How a program differs from its reference on the data of ``recipe``."""

    recipe: Recipe
    found: Comparison


@dataclass(slots=True)
class Stretched:
    """The stretched data of one task, each made once.

    ``world`` is in fp64, ``work`` that of one run of the reference, and ``noting`` tells whether it asks for the place
    of the largest.
    """

    world: World
    work: int
    noting: Noting
    _made: dict[tuple[Recipe, torch.dtype], World | None] = field(default_factory=dict)

    def judge(
        self, drawn: World, results: Results, noted: Callable[[], Noting], recipes: Sequence[Recipe] = STRETCHES
    ) -> Unlike | None:
        """Return how a program that is right on ``drawn`` is wrong on numbers of other sizes; None where it is not.

        ``results`` is what it gives, a list of components for each output; ``noted`` runs it once more to see
        whether it asks for the place of the largest. ``recipes`` are the data that are tried.

        Raises:
            SimError: it fails on data on which the reference does not.
        """
        most = runs_within(self.work)
        for number, recipe in enumerate(recipes):
            data = self._data(recipe, drawn) if number < most else None
            if data is None:
                continue
            notes = drawn.env.notes
            before = notes.work
            outputs = results(data)
            most = min(most, runs_within(self.work + notes.work - before))
            strict = recipe.kind in _OF_RANGES
            if compare(outputs, data.references()).ok if strict else _are_alike(outputs, data.references()):
                continue
            found = self._differs(recipe, results, outputs, data)
            if found is not None and not _hangs_on_ties(recipe, noted):
                return Unlike(recipe, found)
        return None

    def overflow(self, drawn: World, results: Results) -> Recipe | None:
        """Return the data on which a program leaves fp16 and its reference does not; None where there are none.

        They are the largest numbers at which the reference is finite. Powers of two change no rounding, so what is far
        off there, and right in fp64, came of a number beyond 65,504.
        """
        if runs_within(self.work) <= 2 * len(_BEYOND):
            return None  # a run takes so much that there is time for little else
        recipe = next((each for each in _BEYOND if self._data(each, drawn) is not None), None)
        data, precise = (None if recipe is None else self._data(recipe, base) for base in (drawn, self.world))
        if data is None or precise is None:
            return None
        try:
            if _are_near(results(data), data.references()):
                return None
            return recipe if compare(results(precise), precise.references()).ok else None
        except SimError:
            return None  # nobody promised a program that it takes such numbers

    def _data(self, recipe: Recipe, base: World) -> World | None:
        """Return the data of ``recipe`` for runs like those on ``base``; None where there are none that count."""
        key = (recipe, base.dtype)
        if key not in self._made:
            tied = _hangs_on_ties(recipe, lambda: self.noting)
            self._made[key] = None if tied else _stretched(recipe, base)
        return self._made[key]

    def _differs(self, recipe: Recipe, results: Results, rough: Columns, data: World) -> Comparison | None:
        """Compare in fp64 where both sides are finite, and ``rough`` results on ``data`` explain no difference."""
        precise = self._data(recipe, self.world)
        if precise is None:
            return None
        references = precise.references()
        try:
            outputs = results(precise)
        except SimError as problem:
            if about(problem.code).outcome is Outcome.OUT_OF_MEMORY:
                return None  # in fp64 everything is twice as large: no fault of the program
            raise
        first = compare(outputs, references)
        if first.ok or first.mismatch is None or recipe.kind in _OF_RANGES:  # other lengths are no matter of rounding
            return None if first.ok else first
        columns = zip(outputs, references, rough, data.references(), strict=True)
        kept = [[_counting(*parts) for parts in zip(*column, strict=True)] for column in columns]
        found, wanted = ([[pair[side] for pair in column] for column in kept] for side in (0, 1))
        again = compare(found, wanted)
        return None if again.ok else again


def _hangs_on_ties(recipe: Recipe, noted: Callable[[], Noting]) -> bool:
    """Whether results on such data may hang on which of equal numbers is the largest, which is nobody's promise."""
    if recipe.kind is DataKind.FEW:
        return noted().unstable
    return recipe.kind is DataKind.SPREAD and recipe.spread > 1.0 and noted().orders


def _stretched(recipe: Recipe, base: World) -> World | None:
    """Return ``base`` on other inputs; None where none holds floating-point numbers that may be any, or the reference
    gives no results that count.
    """
    ports, drawn = base.ports, base.drawn
    names = [name for name in drawn if name not in base.parameters]
    if not any(_may_be_made(recipe, ports[name], drawn[name]) for name in names):
        return None
    with torch.inference_mode():
        other = base.beside(
            {name: redraw(ports[name], drawn[name], base.bindings, recipe, alone=False) for name in names}
        )
    try:
        pairs = zip(other.references(), base.references(), strict=True)
        return other if all(as_finite(found, before) for found, before in pairs) else None
    except SimError:
        return None


def _may_be_made(recipe: Recipe, port: Port, tensors: Sequence[Tensor]) -> bool:
    """Whether ``port`` has other data of ``recipe``; ``tensors`` are those drawn."""
    items = components(port.type.element)
    if recipe.kind in (DataKind.ALIKE, DataKind.OTHERS):
        return any(map(selects, items))
    if recipe.kind is DataKind.ENDS:
        return port.data_gen == "binary" or any(is_whole(each) or dtype_of(each) == "bool" for each in items)
    whole = recipe.kind is DataKind.FEW and any(map(is_whole, items))
    return redrawable(port) and (whole or any(each.is_floating_point() for each in tensors))


def _are_alike(outputs: Columns, references: Columns) -> bool:
    """Whether results differ by no more than what roundings usually make; what is not finite says nothing."""
    for column, wanted in zip(outputs, references, strict=True):
        for found, other in zip(map(values_of, column), map(values_of, wanted), strict=True):
            if found.shape != other.shape or found.dtype != other.dtype:
                return False
            if not found.numel():
                continue
            if not found.is_floating_point():
                if not torch.equal(found, other):
                    return False
                continue
            unit, size = torch.finfo(found.dtype).eps, other.abs()
            apart = (found - other).abs_()
            off = apart > size * (_ALIKE * unit) + size.max() * (_SUMMED * unit)  # False for NaN
            if bool(off.any()) and bool((off & torch.isfinite(apart)).any()):
                return False
    return True


def _are_near(outputs: Columns, references: Columns) -> bool:
    """Whether floating-point results are finite where those of the reference are, and not grossly off."""
    for column, wanted in zip(outputs, references, strict=True):
        for found, other in zip(map(values_of, column), map(values_of, wanted), strict=True):
            if found.shape != other.shape or not other.is_floating_point() or not other.numel():
                continue
            kept = torch.isfinite(other)
            one, two = found[kept].double(), other[kept].double()
            if two.numel() and not bool(((one - two).abs() <= _GARBAGE * two.abs().max()).all()):  # False for NaN
                return False
    return True


def _counting(found: Any, wanted: Any, *rough: Any) -> tuple[Any, Any]:
    """Return both sides of a component with zeros for what does not count."""
    one, other, *single = (values_of(each) for each in (found, wanted, *rough))
    if not one.is_floating_point() or any(each.shape != one.shape for each in (other, *single)):
        return found, wanted
    counts = torch.isfinite(one) & torch.isfinite(other)
    if single[0].dtype != one.dtype:
        off = torch.maximum((single[0] - one).abs(), (single[1] - other).abs())
        most = torch.minimum((one - other).abs() * _ROUNDING, torch.maximum(one.abs(), other.abs()) * _GARBAGE)
        counts &= off <= most  # not where one is infinite in fp32
    return _where(counts, found, one), _where(counts, wanted, other)


def _where(counts: Tensor, found: Any, values: Tensor) -> Any:
    kept = torch.where(counts, values, torch.zeros_like(values))
    return kept if isinstance(found, Tensor) else replace(found, values=kept)
