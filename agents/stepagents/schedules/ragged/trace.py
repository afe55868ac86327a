"""Lengths of caches to search with, and what a run with them decides. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from random import Random
from typing import TYPE_CHECKING

import torch

from stepagents.schedules.parts import NoSchedule
from stepcore.costs.bounds import DEFAULT_LIMIT, Bounds
from stepcore.costs.sizes import ByteCount
from stepcore.cycles.routes import ProgramRoutes
from stepcore.findings.errors import SimError
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Session

if TYPE_CHECKING:
    from torch import Tensor

    from stepagents.schedules.programs import Tiled
    from stepagents.schedules.ragged.attention import RaggedAttention

_SPREAD = 32  # the longest cache over the shortest, of 95 in 100


def drawn_lengths(requests: int, most: int, seed: int) -> tuple[int, ...]:
    """Return log-normal lengths of caches of ``most`` rows: 95 in 100 lie from a 32nd of them to all, none outside.

    The median is the geometric mean of both ends, four standard deviations of the logarithm lie between them.
    """
    least = max(most // _SPREAD, 1)
    centre, spread = log(least * most) / 2, log(most / least) / 4
    rng = Random(seed)
    return tuple(min(max(round(exp(rng.gauss(centre, spread))), least), most) for _ in range(requests))


def tiles_of(plan: RaggedAttention, lengths: Sequence[int], rows: int, bound: Mapping[str, int]) -> list[int]:
    """Return how many tiles of so many rows each piece of work reads, in the order in which they are dealt."""
    most, heads = plan.most.bind(bound), plan.heads.bind(bound)
    return [-(-min(max(each + plan.more, 0), most) // rows) for each in lengths for _ in range(heads)]


def parts_of(tiles: Sequence[int], parts: int) -> list[int]:
    """Return the tiles of each part of pieces of work, that of one piece behind each other."""
    return [(part + 1) * count // parts - part * count // parts for count in tiles for part in range(parts)]


def routes_of(program: Tiled, plan: RaggedAttention, lengths: Sequence[int], shares: int = 1) -> ProgramRoutes:
    """Return what a run of ``program`` with these lengths decides; it runs with one column where that is possible.

    ``shares`` are its lanes times the parts that it cuts a piece of work into. The bound of a run's memory supposes
    that each lane gets all of each part; since a tile goes to one of them, the run is allowed so many times as much.

    Raises:
        NoSchedule: it is longer than timing follows, or what is read alone needs more memory than a run may take.
    """
    spec = program.spec
    kept = {symbol for size in (*plan.outer, plan.most) for symbol in size.symbols()}
    narrow = {name: 1 for name, _ in spec.defaults if name not in kept}

    def given(_dtype: torch.dtype) -> Mapping[str, Sequence[Tensor]]:
        return {plan.lengths.name: [torch.tensor(lengths, dtype=torch.int64)]}

    typed = program.checked.typed
    try:
        Bounds(spec, spec.bindings(narrow)).charge_fixed(ByteCount(DEFAULT_LIMIT))
        session = Session(spec, narrow, limit=shares * DEFAULT_LIMIT, examine=False, given=given)
        decided = decided_by_data(typed, session.run(typed, keep=True))
    except SimError as error:
        raise NoSchedule(f"no run says what its lanes get: {error}") from error
    if decided is None:
        raise NoSchedule("its lists are longer than timing follows")
    return decided
