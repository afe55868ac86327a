"""Routes to search with, and what a run with them decides. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from random import Random
from typing import TypeAlias

from stepcore.cycles.routes import ProgramRoutes, Rows, selectors_of
from stepcore.graph.typed import TypedGraph
from stepcore.types import Multihot

# For each row the experts that it goes to, ascending.
Trace: TypeAlias = Sequence[tuple[int, ...]]


def routing_trace(batch: int, experts: int, chosen: int, *, skew: float, seed: int) -> Trace:
    """Draw which ``chosen`` experts each row goes to.

    The expert of rank ``r`` (from 1) has popularity ``r ** -skew``; a seed says which expert has which rank. Each row
    by itself draws experts one after the other, without replacement, in proportion to their popularity (Gumbel's way:
    the ``chosen`` greatest of ``log(popularity) - log(-log(u))``). With ``skew`` 0 all are alike.
    """
    rng = Random(seed)
    ranks = list(range(1, experts + 1))
    rng.shuffle(ranks)

    def row() -> tuple[int, ...]:
        keys = [-skew * log(rank) - log(-log(1 - rng.random())) for rank in ranks]
        return tuple(sorted(sorted(range(experts), key=keys.__getitem__)[-chosen:]))

    return [row() for _ in range(batch)]


def rows_of_experts(trace: Trace, experts: int) -> list[int]:
    """Return how many rows go to each expert."""
    counts = [0] * experts
    for row in trace:
        for expert in row:
            counts[expert] += 1
    return counts


def routes_of(graph: TypedGraph, trace: Trace, experts: int, tile: int) -> ProgramRoutes:
    """Return what a run decides whose rows go where ``trace`` says.

    ``tile`` are the rows of static tiles: selectors of one branch tell, expert by expert, which rows fill none up.
    """
    found: dict[int, Rows] = {}
    counts = iter(rows_of_experts(trace, experts))
    for index in selectors_of(graph):
        element = graph.streams[index].type.element
        if tile and isinstance(element, Multihot) and element.length == 1:
            count = next(counts)
            found[index] = [(0,)] * count + [()] * (-count % tile)
        else:
            found[index] = trace
    return ProgramRoutes("run", found)
