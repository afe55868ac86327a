"""How much a verification says: on which inputs do the results depend, under the data drawn?

A program that ignores an input is accepted wherever no result depends on that input (the mean over one element,
subtracted from that element, is 0 whatever the weights). :func:`examine` redraws one input at a time and compares the
reference's results by the tolerances of a verdict. Only inputs that reach a result in the reference's own
computation (:mod:`stepcore.sim.flow`) count: what is used for its shape alone is no weakness. Where nothing depends on
an input, stronger data are tried: another seed, a larger spread, other signs. Data of which a result is not finite,
although it was on the data drawn, do not count.

Everything is decided in fp64 and follows from the seed. How often the reference runs is bounded by the work of one run,
and never by time: a verdict is the same on every processor. Where that ends the search, a note says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias
from zlib import crc32

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Untested, UntestedCondition
from stepcore.graph.ir import Port
from stepcore.records import Record
from stepcore.sim.compare import close
from stepcore.sim.draw import draw, is_whole, seeded, selects, whole_limits
from stepcore.sim.flow import FlowMode, reaching
from stepcore.sim.nested import values_of
from stepcore.sim.runs import runs_within
from stepcore.sim.world import World
from stepcore.text.wording import counted
from stepcore.types import Single, components

Tensors: TypeAlias = Mapping[str, Sequence[Tensor]]

EXAMINED: Final = 4 << 20  # bytes of inputs, parameters and outputs up to which a verification is examined
_SEEDS: Final = (6007, 6011, 6029)  # of what is redrawn
_FIXED: Final = frozenset({"torch.ones", "torch.zeros"})
_SELDOM: Final = 0.01  # a chance that data show nothing of an input which is too large
_MOST_RUNS: Final = 256


class DataKind(Enum):
    """What numbers are made of those of a generator; the value is what messages call them."""

    SPREAD = "as they are"
    NEGATIVE = "numbers below -2"
    POSITIVE = "numbers above 2"
    SIGNED = "numbers of any sign"
    FEW = "few numbers, many of them equal"
    ENDS = "numbers at the ends of their range"
    ALIKE = "the same branches at all positions"
    OTHERS = "the next branches at all positions"


class Recipe(Record):
    """Other data for all inputs at once; ``spread`` multiplies floating-point numbers of a generator.

    ``signed`` draws numbers of any sign also where ``torch.rand`` gives none below 0.
    """

    seed: int
    spread: float = 1.0
    signed: bool = False
    kind: DataKind = DataKind.SPREAD

    @property
    def text(self) -> str:
        """What messages call such data."""
        if self.kind is not DataKind.SPREAD:
            return str(self.kind.value)
        if self.spread == 1.0:
            return f"seed {self.seed}"
        times = f"{self.spread:g} times larger" if self.spread > 1.0 else f"{1 / self.spread:g} times smaller"
        return f"numbers {times}" + (", of any sign" if self.signed else "")


_AS_DRAWN: Final = Recipe(0)
_RECIPES: Final = (
    Recipe(7919),
    Recipe(7927, 8.0),
    Recipe(7933, 8.0, True),
    Recipe(7937, 64.0),
    Recipe(7949, 64.0, True),
    Recipe(7951, 1024.0),
    Recipe(7963, 1024.0, True),
    Recipe(7993, kind=DataKind.FEW),
)


def not_on(what: str) -> str:
    """Say that a program is wrong on stronger data: ``what`` they are."""
    return f"right on the data drawn, which hardly test it, but not on other data ({what})"


class ExaminedReference(Protocol):
    """What is examined: a reference with its data in fp64."""

    @property
    def data(self) -> Tensors:
        """The data drawn: per input and parameter one tensor for each component."""

    def redrawn(self, name: str, recipe: Recipe, *, alone: bool) -> Sequence[Tensor]:
        """Return other data for one input, of the kind that it may have; ``alone`` where all others stay."""

    def results(self, data: Tensors) -> list[tuple[str, Tensor]]:
        """Return each result on ``data`` with the name of its output.

        Raises:
            SimError: the reference fails there.
        """


class Strength(Record):
    """What a verification on the data drawn is worth.

    ``further`` are data on which a program has to be right, too, because results depend there on inputs that they do
    not depend on otherwise; ``untested`` is what no data brought to light, None where all is tested. ``used`` are the
    inputs and parameters on which results depend. ``work`` is that of one run of the reference.
    """

    further: tuple[tuple[Recipe, Tensors], ...] = ()
    untested: Untested | None = None
    used: frozenset[str] = frozenset()
    work: int = 0


def examine(subject: ExaminedReference, named: Sequence[str], flow: FlowMode | None = None) -> Strength:
    """Return what a verification of ``subject`` says; ``named`` are its inputs and parameters, in their order.

    ``flow`` sees the reference run on the data drawn.
    """
    return _Examination(subject, named, flow or FlowMode(subject.data)).run()


@dataclass(slots=True)
class _Open:
    """Inputs and outputs on which, or of which, no dependence was seen so far."""

    inputs: set[str]
    outputs: set[int]

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


@dataclass(slots=True)
class _Examination:
    subject: ExaminedReference
    named: Sequence[str]
    flow: FlowMode
    runs: int = 0
    work: int = 1

    def run(self) -> Strength:
        """Look at the data drawn, then at stronger data."""
        try:
            labelled: list[str] = []
            base, reached = reaching(self.flow, lambda: self._labelled(self.subject.data, labelled))
        except SimError:  # it ran before: what fails is being watched, so nothing can be said
            return Strength()
        self.work = self.flow.work
        used = frozenset().union(*reached) & set(self.named)
        if self.named and not used:  # the reference is a constant of the sizes
            return Strength((), Untested((), tuple(dict.fromkeys(labelled))), work=self.work)
        still = _Open(set(used), {number for number, names in enumerate(reached) if names & used})
        further = self._look(self.subject.data, base, still, reached, _AS_DRAWN)
        for recipe in _RECIPES if still else ():
            data = {name: self.subject.redrawn(name, recipe, alone=False) for name in self.subject.data}
            results = self._results(data)
            if results is None or not as_finite(results, base):
                continue
            before = (len(still.inputs), len(still.outputs))
            telling = self._look(data, results, still, reached, recipe)
            if (len(still.inputs), len(still.outputs)) != before:
                further += [(recipe, data), *telling]
            if not still:
                break
        if not still or self._is_late():
            return Strength(tuple(further), self._ended(still, labelled) if still else None, used, self.work)
        outputs = dict.fromkeys(labelled[number] for number in sorted(still.outputs))
        constant = tuple(name for name in outputs if _all_open(name, labelled, still.outputs))
        inputs = tuple(name for name in self.named if name in still.inputs)
        untested = Untested(inputs, constant) if inputs or constant else None
        return Strength(tuple(further), untested, used - still.inputs, self.work)

    def _look(
        self,
        data: Tensors,
        base: Sequence[Tensor],
        still: _Open,
        reached: Sequence[frozenset[str]],
        recipe: Recipe,
    ) -> list[tuple[Recipe, Tensors]]:
        """Take off ``still`` what ``data`` tests: redraw one input after the other, and see what changes.

        Return the data redrawn on which a program without that input is wrong although it may be right on ``data``:
        all but, for the data drawn, those that change much of a result.
        """
        found: list[tuple[Recipe, Tensors]] = []
        flat = {number for number, result in enumerate(base) if _is_flat(result)}
        wanted = [name for name in self.named if name in still.inputs or any(name in reached[r] for r in still.outputs)]
        for name in wanted:
            reaches = {number for number in still.outputs if name in reached[number]}
            if name not in still.inputs and not reaches:
                continue
            for seed in _SEEDS:
                again = Recipe(seed, recipe.spread, recipe.signed)
                redrawn = {**data, name: self.subject.redrawn(name, again, alone=True)}
                other = self._results(redrawn)
                if other is None:
                    continue
                changed = {number for number in range(len(base)) if _differs(base[number], other[number])}
                # All entries equal here, and not there: these data happen to say nothing about this result.
                telling = {number for number in changed if number not in flat or _is_flat(other[number])}
                still.outputs -= telling
                if telling:
                    still.inputs.discard(name)
                    if recipe is not _AS_DRAWN or min(_missed(base[n], other[n]) for n in telling) > _SELDOM:
                        possible = self.subject.redrawn(name, again, alone=False)
                        found.append((again, {**data, name: possible}))
                    break
        return found

    def _labelled(self, data: Tensors, labels: list[str]) -> list[Tensor]:
        found = self.subject.results(data)
        labels.extend(name for name, _tensor in found)
        return [tensor for _name, tensor in found]

    def _is_late(self) -> bool:
        return self.runs >= min(_MOST_RUNS, runs_within(self.work))

    def _ended(self, still: _Open, labelled: Sequence[str]) -> Untested:
        inputs = [name for name in self.named if name in still.inputs]
        names = inputs or [*dict.fromkeys(labelled[number] for number in sorted(still.outputs))]
        where = "on which results depend on" if inputs else "that change"
        tries = counted(self.runs, "run", "runs")
        text = (
            f"the search for data {where} {', '.join(names)} ended after {tries} of the reference, which takes too long"
        )
        return Untested(conditions=(UntestedCondition(text),))

    def _results(self, data: Tensors) -> list[Tensor] | None:
        """Return the results on ``data``; None where the reference fails there, or no run is left."""
        if self._is_late():
            return None
        self.runs += 1
        try:
            return [tensor for _name, tensor in self.subject.results(data)]
        except SimError:
            return None


def _all_open(name: str, labels: Sequence[str], still: set[int]) -> bool:
    return all(number in still for number, label in enumerate(labels) if label == name)


def _differs(before: Tensor, after: Tensor) -> bool:
    """Whether a verification of both would reject what is the same for them: it is far from one of them.

    What became infinite or NaN says nothing.
    """
    if before.shape == after.shape and not as_finite([after], [before]):
        return False
    return not close(after, before, 2.0)


def _missed(before: Tensor, after: Tensor) -> float:
    """Return how likely other data change no number of a result, if each changes as often as here."""
    if before.shape != after.shape:
        return 0.0
    return float(1 - (before != after).double().mean()) ** before.numel()


def _is_flat(tensor: Tensor) -> bool:
    return tensor.numel() > 1 and bool((tensor == tensor.reshape(-1)[0]).all())


def all_finite(references: Sequence[Sequence[Any]]) -> bool:
    """Whether each number of the references is finite."""
    return all(bool(torch.isfinite(values_of(found)).all()) for column in references for found in column)


def as_finite(found: Sequence[Any], base: Sequence[Any]) -> bool:
    """Whether each number is finite that was finite in ``base``."""
    for one, other in zip(map(values_of, found), map(values_of, base), strict=True):
        if one.shape != other.shape:
            return bool(torch.isfinite(one).all())
        if bool((torch.isfinite(other) & ~torch.isfinite(one)).any()):
            return False
    return True


def redraw(
    port: Port, now: Sequence[Tensor], bindings: Mapping[str, int], recipe: Recipe, *, alone: bool
) -> list[Tensor]:
    """Return other data for ``port``, of its kind: selectors keep their bounds, whole numbers their range.

    Numbers that are all 0 or all 1 by their generator change only where they are redrawn ``alone``, to see whether
    they matter; no program has to be right for others. Each port has a seed of its own: inputs that are equal would
    hide from which of them a result is computed.
    """
    with seeded(recipe.seed + crc32(port.name.encode())):
        if port.data_gen in _FIXED:
            return [_moved(tensor) for tensor in now] if alone else list(now)
        found = [tensor.to(old.dtype) for tensor, old in zip(draw(port, bindings, torch.float64), now, strict=True)]
        if port.data_gen == "binary":
            return [_rows_alike(each) for each in found] if recipe.kind is DataKind.ENDS else found
        items = components(port.type.element)
        if recipe.kind is DataKind.SPREAD:
            return [t if selects(item) else _spread(t, recipe) for item, t in zip(items, found, strict=True)]
        limits = whole_limits(port)
        return [_made(recipe.kind, item, t, limits) for item, t in zip(items, found, strict=True)]


def is_fixed(port: Port) -> bool:
    """Whether all numbers of ``port`` are 1, or 0, by how they are drawn."""
    return port.data_gen in _FIXED


def redrawable(port: Port, item: Single | None = None) -> bool:
    """Whether a component of ``port`` (``item``) may hold numbers of any kind."""
    fixed = port.data_gen == "binary" or is_fixed(port)
    return not fixed and not (item is not None and selects(item))


def _moved(tensor: Tensor) -> Tensor:
    if not tensor.is_floating_point():
        return tensor
    return tensor + torch.rand(tensor.shape, dtype=torch.float64).to(tensor.dtype)


def _spread(tensor: Tensor, recipe: Recipe) -> Tensor:
    if not tensor.is_floating_point() or recipe.spread == 1.0:
        return tensor
    if recipe.signed:
        tensor = tensor * (torch.randint(0, 2, tensor.shape) * 2 - 1)
    return tensor * recipe.spread


def _made(kind: DataKind, item: Single, tensor: Tensor, limits: tuple[int, int]) -> Tensor:
    """Return other numbers of ``kind`` in the place of ``tensor``; whole ones stay within ``limits``."""
    low, high = limits
    if is_whole(item) and kind in (DataKind.FEW, DataKind.ENDS):
        if kind is DataKind.FEW:
            return torch.randint(low, min(low + 2, high) + 1, tensor.shape, dtype=tensor.dtype)
        return _with_ends(tensor, limits)
    if selects(item):
        return _same_branches(kind, tensor) if kind in (DataKind.ALIKE, DataKind.OTHERS) else tensor
    if kind is DataKind.ENDS and tensor.dtype == torch.bool:
        return _rows_alike(tensor)
    if not tensor.is_floating_point() or kind in (DataKind.ENDS, DataKind.ALIKE, DataKind.OTHERS):
        return tensor
    if kind is DataKind.FEW:
        return torch.randint(-4, 5, tensor.shape).to(tensor.dtype) / 2  # halves, which rounding decides
    if kind is DataKind.SIGNED:
        return tensor * (torch.randint(0, 2, tensor.shape) * 2 - 1)
    away = tensor.abs() * 4 + 2
    return -away if kind is DataKind.NEGATIVE else away


def _same_branches(kind: DataKind, selectors: Tensor) -> Tensor:
    """Return the first of ``selectors`` at all positions, or as many of the branches behind its own."""
    first = selectors.reshape(-1, selectors.shape[-1])[0]
    return (first.roll(1) if kind is DataKind.OTHERS else first).expand_as(selectors).clone()


def _rows_alike(tensor: Tensor) -> Tensor:
    """Return truth values of which in each outermost position all are true, all are false, or as they are."""
    kind = torch.randint(0, 3, (tensor.shape[0], *(1 for _ in tensor.shape[1:])))
    return torch.where(kind == 2, tensor, (kind == 1).to(tensor.dtype))


def _with_ends(tensor: Tensor, limits: tuple[int, int]) -> Tensor:
    """Return ``tensor`` with each of two numbers in a quarter of its places."""
    result = tensor.clone().reshape(-1)
    places = torch.randperm(result.numel())
    share = max(1, result.numel() // 4)
    for number, limit in enumerate(reversed(limits)):
        result[places[number * share : (number + 1) * share]] = limit
    return result.reshape(tensor.shape)


def examine_world(world: World, flow: FlowMode | None = None) -> Strength:
    """Return what a verification against ``world`` (in fp64) says; see :func:`examine`."""
    drawn = world.drawn
    return examine(_OfWorld(world, drawn), list(drawn), flow or FlowMode(drawn))


class _OfWorld(Record):
    """A task or program and its reference, as a subject."""

    world: World
    data: Tensors

    def redrawn(self, name: str, recipe: Recipe, *, alone: bool) -> Sequence[Tensor]:
        """See :class:`ExaminedReference`."""
        return redraw(self.world.ports[name], self.data[name], self.world.bindings, recipe, alone=alone)

    def results(self, data: Tensors) -> list[tuple[str, Tensor]]:
        """See :class:`ExaminedReference`."""
        columns = self.world.varied(data).compute_references()
        ports = self.world.spec.outputs
        names = [port.name for port in ports] if ports is not None else [""] * len(columns)
        labels = [name or f"S{number}" for number, name in enumerate(names)]
        pairs = zip(labels, columns, strict=True)
        # Of nested lists the values: lists of other lengths have other numbers of them.
        return [(label, values_of(found)) for label, column in pairs for found in column]
