"""Sizes at which a function is traced, one after the other, until a trace holds for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stepagents.torchfn.sizing import Sizing


def trials(sizing: Sizing, bound: Mapping[str, int]) -> Iterator[Sizing]:
    """Yield the sizing with all symbols, with each one taken away, and with none."""
    yield sizing
    names = list(sizing.base)
    for gone in [[name] for name in names] * (len(names) > 1) + [names] * bool(names):
        why = "the operations of the function depend on it"
        yield replace(
            sizing,
            base={name: size for name, size in sizing.base.items() if name not in gone},
            numbers={**sizing.numbers, **{name: bound.get(name, sizing.base[name]) for name in gone}},
            fixed={**sizing.fixed, **dict.fromkeys(gone, why)},
        )


def small_trials(trial: Sizing) -> Iterator[Sizing]:
    """Yield the sizing with further traces at small sizes, of one symbol, then of all: a table may bound a size."""
    names = [name for name in trial.base if name not in trial.kernels]
    for some in [[name] for name in names] + [names] * (len(names) > 1):
        yield replace(trial, kernels=trial.kernels | set(some))
