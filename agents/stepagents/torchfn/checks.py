"""Fresh data at several sizes for checking programs against the user's function. Loads torch.

Sizes are small and different: primes, sizes in another order, and 1 where the function permits it. What it does not
permit (it raises, or gives no element) is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Final

import torch
from torch import Tensor

from stepagents.torchfn.blame import explained
from stepagents.torchfn.layer import GraphReference
from stepagents.torchfn.refusals import NO_TRACE, NO_TYPE, Refused, refuse
from stepagents.torchfn.subject import TORCH_DTYPES
from stepagents.traced.data import CheckData
from stepagents.traced.graph import TracedFunction, TracedInput
from stepcore.records import Record

_PRIMES: Final = (3, 5, 7, 11, 13, 2)
_LARGEST: Final = 1 << 25  # elements of one input
_BOUNDS: Final = (None, 10, 4, 2, 1)  # for whole numbers of which nothing is known
_GENERATORS: Final = ("torch.rand", "torch.ones")
_ENOUGH: Final = 3  # data sets, with which no further sizes are tried
_MOST_DRAWS: Final = 6  # of numbers of any sign
_PROOFS: Final = 2  # draws that show that the numbers of an input were not at fault


class Checks(Record):
    """CheckData sets, the first at the sizes of the trace or smaller ones; how each input is drawn, by its name.

    ``below`` bounds whole numbers at the sizes of the trace and those that were asked for. ``differing`` are sizes at
    which a result has other sizes than the trace says; ``edges`` are those among them where a size is 1, at which many
    functions behave in another way. ``narrowed`` are the inputs that are drawn in a special way (as it says) because
    the function gives NaN otherwise.
    """

    data: list[CheckData]
    draws: Mapping[str, str]
    below: Mapping[str, int]
    differing: list[Mapping[str, int]]
    edges: list[Mapping[str, int]]
    narrowed: Mapping[str, str]


class _NoNumbers(ValueError):
    """The function gives NaN for all data that were tried."""


class _OtherShape(ValueError):
    """A result has other sizes than the trace says."""


def make_checks(traced: TracedFunction, seed: int) -> Checks:
    """Return data at which the user's function runs.

    Raises:
        Refused: it runs at none of them.
    """
    maker = _Maker(traced, seed)
    found: list[CheckData] = []
    differing: list[Mapping[str, int]] = []
    problem: Exception | None = None
    for sizes, is_further in _sizes(traced):
        if is_further and len(found) >= _ENOUGH:
            break
        try:
            found.append(maker.data(sizes))
        except _OtherShape as error:
            differing.append(sizes)
            problem = problem or error
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            problem = problem or error
    if not found and problem is None:
        count, name = max((_elements(item, traced.dims), item.origin or item.name) for item in traced.inputs)
        most = f"a program is verified by running it, with at most {_LARGEST:,} in a tensor"
        what = f"{name} holds {count:,} numbers; {most}"
        raise refuse(NO_TYPE, what, traced.path, traced.line, advice="make the module and its inputs smaller")
    if not found and isinstance(problem, _NoNumbers):
        what = "the function gives NaN for all data that were tried"
        raise refuse(NO_TRACE, what, traced.path, traced.line, advice="make it total, by torch.clamp for example")
    if not found:
        assert problem is not None
        raise Refused([explained(problem, traced.path, traced.path, traced.line, "")])
    edges = [sizes for sizes in differing if 1 in sizes.values()]
    return Checks(
        found, maker.draws, maker.below, [sizes for sizes in differing if sizes not in edges], edges, maker.narrowed
    )


def _sizes(traced: TracedFunction) -> Iterator[tuple[dict[str, int], bool]]:
    """Yield bindings of all symbols, each once, and whether they are further ones, where others did not do."""
    names = list(traced.dims)
    seen: set[tuple[int, ...]] = set()
    count = len(_PRIMES)
    plans: list[Sequence[int]] = [[_PRIMES[(index + turn) % count] for index in range(len(names))] for turn in (0, 2)]
    plans += [[1] * len(names), [_PRIMES[(2 * index + 1) % count] for index in range(len(names))]]
    plans += [[1 if other == index else 3 for other in range(len(names))] for index in range(len(names))]
    candidates = [
        {name: traced.multiples.get(name, 1) * factor for name, factor in zip(names, plan, strict=True)}
        for plan in plans
    ]
    if traced.bound:
        candidates.insert(1, {**candidates[0], **traced.bound})
    candidates.append(dict(traced.dims))
    for number, sizes in enumerate([*candidates, *_further(traced)]):
        key = tuple(sizes.values())
        if key not in seen and _fits(traced, sizes):
            seen.add(key)
            yield sizes, number >= len(candidates)


def _further(traced: TracedFunction) -> list[dict[str, int]]:
    """Return sizes for functions that need large ones: only the first, a batch as a rule, is small."""
    first = next(iter(traced.dims), None)
    most = {**traced.dims, **traced.bound}
    return [] if first is None else [{**most, first: traced.multiples.get(first, 1) * few} for few in (2, 1)]


def _fits(traced: TracedFunction, sizes: Mapping[str, int]) -> bool:
    return all(0 < _elements(item, sizes) <= _LARGEST for item in traced.inputs)


def _elements(item: TracedInput, sizes: Mapping[str, int]) -> int:
    return prod(size.bind(sizes) for size in item.dims)


class _Maker:
    """Draws data; what it learns about the kinds of data holds for all sizes."""

    def __init__(self, traced: TracedFunction, seed: int) -> None:
        self._traced = traced
        self._generator = torch.Generator().manual_seed(seed)
        self.draws = {item.name: item.data_gen or "" for item in traced.inputs}
        self.below: dict[str, int] = {}
        self.narrowed: dict[str, str] = {}

    def data(self, sizes: Mapping[str, int]) -> CheckData:
        """Return drawn tensors at which the function runs."""
        problem: Exception | None = None
        for below in _BOUNDS if self._guesses() else (None,):
            try:
                found = self._finite(sizes, below)
                self._note_bounds(sizes, below)
                return found
            except (IndexError, RuntimeError) as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def _note_bounds(self, sizes: Mapping[str, int], below: int | None) -> None:
        """Keep the bounds at the sizes that a delivered file is run with: the trace's and those asked for."""
        asked = self._traced.bound.items() <= sizes.items() and self._traced.bound
        if asked or sizes == self._traced.dims:
            for item in self._traced.inputs:
                if item.dtype.startswith("int"):
                    bound = _bound(item, sizes, below)
                    self.below[item.name] = min(bound, self.below.get(item.name, bound))

    def _guesses(self) -> bool:
        return any(item.dtype.startswith("int") and item.below is None for item in self._traced.inputs)

    def _finite(self, sizes: Mapping[str, int], below: int | None) -> CheckData:
        """Draw data for which the function gives no NaN.

        Other numbers of the same kind are tried first, then numbers from 0 to 1 (or ones) for one input at a time, at
        last for all of them.
        """
        before = dict(self.draws)
        fractions = {item.name for item in self._traced.inputs if TORCH_DTYPES[item.dtype].is_floating_point}
        free = [name for name, draw in before.items() if draw == "torch.randn" and name in fractions]
        choices = [{name: generator} for generator in _GENERATORS for name in free] if len(free) > 1 else []
        choices += [dict.fromkeys(free, generator) for generator in _GENERATORS]
        plain: list[dict[str, str]] = [{}] * _MOST_DRAWS
        for change in plain + choices:
            self.draws = {**before, **change}
            found = self._drawn(sizes, below)
            if self._is_finite(found):
                others = [self._redrawn(found, change, before) for _ in range(_PROOFS)] if change else []
                if others and all(map(self._is_finite, others)):
                    self.draws = before  # another input was at fault, such as a mask that left nothing
                    return others[0]
                self.draws = {**before, **change}
                self.narrowed.update(change)
                return found
        self.draws = before
        raise _NoNumbers("its results are no numbers (NaN)")

    def _redrawn(self, found: CheckData, names: Collection[str], draws: Mapping[str, str]) -> CheckData:
        """Return ``found`` with the inputs ``names`` drawn again as ``draws`` says."""
        self.draws = dict(draws)
        again = {item.name: self._tensor(item, found.sizes, None) for item in self._traced.inputs if item.name in names}
        return replace(found, tensors={**found.tensors, **again})

    def _is_finite(self, found: CheckData) -> bool:
        results = found.results(found.tensors)
        for item, output in zip(results, self._traced.outputs, strict=True):
            shape = tuple(size.bind(found.sizes) for size in output.dims)
            if tuple(item.shape) != shape:
                raise _OtherShape(f"a result has the shape {tuple(item.shape)} and not {shape}")
            if 0 in shape:
                raise ValueError("a result has no element")
        return not any(bool(item.isnan().any()) for item in results if item.dtype.is_floating_point)

    def _drawn(self, sizes: Mapping[str, int], below: int | None) -> CheckData:
        tensors = {item.name: self._tensor(item, sizes, below) for item in self._traced.inputs}
        return CheckData(tensors, partial(self._results, sizes), sizes)

    def _tensor(self, item: TracedInput, sizes: Mapping[str, int], below: int | None) -> Tensor:
        shape = [size.bind(sizes) for size in item.dims]
        if item.kind == "constant" and item.value is not None:
            return item.value
        dtype = TORCH_DTYPES[item.dtype]
        if dtype == torch.bool or self.draws[item.name] == "binary":
            return torch.randint(0, 2, shape, generator=self._generator).to(dtype)
        if not dtype.is_floating_point:
            return torch.randint(0, _bound(item, sizes, below), shape, generator=self._generator).to(dtype)
        if self.draws[item.name] == "torch.ones":
            return torch.ones(shape, dtype=dtype)
        if self.draws[item.name] == "torch.rand":
            return torch.rand(shape, generator=self._generator).to(dtype)
        return torch.randn(shape, generator=self._generator).to(dtype)

    def _results(self, sizes: Mapping[str, int], tensors: Mapping[str, Tensor]) -> Sequence[Tensor]:
        users = [tensors[item.name] for item in self._traced.inputs if item.kind == "user"]
        weights = {item.name: tensors[item.name] for item in self._traced.inputs if item.kind == "weight"}
        reference = self._traced.reference
        if isinstance(reference, GraphReference):
            return reference.at(sizes)(*users)
        return reference(*users, **weights)


def _bound(item: TracedInput, sizes: Mapping[str, int], below: int | None) -> int:
    return item.below or below or min([10, *sizes.values()])
