"""Sizes of which a program may know the number although its graph does not follow them: it is tried at others.

``input[0].sum() / 9`` is a mean where ``K`` is 9, ``input[0][:9]`` all of a row, and over one element the mean is the
sum; the median is the middle one of an odd number of elements. So where an element function holds a number that may be
one of a size, where a text halves sizes, or a size is 1 or 2, a right program runs at another size, once. That it is
wrong there is told and does not reject it: its file may be meant for these sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import isclose, sqrt
from typing import Final

from stepcore.findings.verdict import UntestedCondition
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.sim.deciding import bodies, references_of
from stepcore.sim.far_sizes import far_sizes
from stepcore.sim.written import numbers_in
from stepcore.types import tensor_shapes

_HALVES: Final = re.compile(
    r"\b(\w+)_value\)? *(?://|%)|(?:\blen|size|numel|shape\[[^]]*\])[^,/%]*(?://|%)|median|quantile"
)
_LEAST: Final = 3  # a mean over one element is its sum, and of two the median is the least
_HALVED: Final = 16  # even sizes from here on become smaller
_NEAR: Final = 1e-3  # how exactly a fraction is written
_PLAIN: Final = frozenset({0.0, 0.5, 1.0, 2.0})


def doubted_sizes(graph: TypedGraph, spec: ProgramSpec, bindings: Mapping[str, int]) -> list[dict[str, int]]:
    """Return other numbers for the sizes of which ``graph`` may know the number; none for most programs.

    They are to be tried in their order. Sizes that the file itself binds stay, and those whose number a reference in
    Python may read of its module.
    """
    own = [block.source.text for block in bodies(graph)]
    others = [block.source.text for block in references_of(spec)]
    if spec.scope.prelude is not None and "def " in spec.scope.prelude.source.text:  # what they may call
        others.append(spec.scope.prelude.source.text)
    sizes = _changeable(spec, bindings)
    near = _near(own, others, sizes)
    return [*([near] if near else ()), *far_sizes([*own, *others], sizes)]


def _near(own: Sequence[str], others: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    numbers: frozenset[float] = frozenset().union(*map(_numbers, own))
    halved = frozenset().union(*map(_halved, [*own, *others]))
    if not numbers and not halved and all(size >= _LEAST for size in sizes.values()):
        return {}
    doubted = {name for name, size in sizes.items() if size < _LEAST or _is_in(numbers, _made_of(size))}
    for one, other in combinations(sizes, 2) if numbers else ():
        product = sizes[one] * sizes[other]
        if _is_in(numbers, (product, 1 / product)):
            doubted |= {one, other}
    return {
        name: _another(size) if name in doubted else size + 1
        for name, size in sizes.items()
        if name in doubted or name in halved or "" in halved
    }


def _changeable(spec: ProgramSpec, bindings: Mapping[str, int]) -> dict[str, int]:
    fixed, prelude = dict(spec.fixed), spec.scope.prelude
    own = "" if prelude is None or references_of(spec) else prelude.source.text
    return {
        name: bindings[name]
        for name in sorted(_symbols(spec))
        if name in bindings and name not in fixed and f"{name}_value" not in own
    }


def wrong_at(sizes: Mapping[str, int], others: Mapping[str, int], text: str) -> UntestedCondition:
    """Return the note on a program that is right with ``sizes`` and not with ``others``: ``text`` says how."""
    changed = [name for name in others if sizes[name] != others[name]]
    first, second = (", ".join(f"{name}={each[name]}" for name in changed) for each in (sizes, others))
    is_near = all(others[name] <= 2 * sizes[name] for name in changed)  # else it is right up to far
    return UntestedCondition(f"right at {first}{' only' if is_near else ''}; at {second} this program is wrong: {text}")


@lru_cache(maxsize=1024)
def _halved(text: str) -> frozenset[str]:
    """Return the sizes that a text halves, or takes a remainder of; an empty name stands for any of them."""
    return frozenset(found.group(1) or "" for found in _HALVES.finditer(text))


def _symbols(spec: ProgramSpec) -> set[str]:
    """Return the symbols in inputs, parameters and their elements."""
    shapes = [shape for port in (*spec.inputs, *spec.parameters) for shape in tensor_shapes(port.type)]
    return {name for shape in shapes for size in shape for name in size.symbols()}


def _made_of(size: int) -> tuple[float, ...]:
    """Return what a text may hold of a size: itself, the last index, a half, a share, a square or a root."""
    return size, size - 1, size + 1, size / 2, 2 * size, size**2, sqrt(size), 1 / size, 1 / sqrt(size), 1 / (size - 1)


def _is_in(numbers: frozenset[float], made: tuple[float, ...]) -> bool:
    return any(isclose(number, each, rel_tol=_NEAR) for number in numbers for each in made)


def _another(size: int) -> int:
    """Return a size with the divisors of ``size`` where that is a larger one."""
    return size // 2 if size >= _HALVED and size % 2 == 0 else 2 * size


@lru_cache(maxsize=1024)
def _numbers(text: str) -> frozenset[float]:
    """Return the numbers in a body that may be those of a size."""
    found = (each for each in numbers_in(text) if type(each) in (int, float))
    return frozenset(abs(float(each)) for each in found if abs(each) < 1e30 and abs(each) not in _PLAIN)
