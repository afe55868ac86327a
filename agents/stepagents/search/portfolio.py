"""Several searches in turns, with different costs: what one set of costs puts last, another may try early.

A best-first search is fast on most tasks and very slow on a few, and which ones depends on the costs. So when the first
search has not ended soon, others join whose costs are derived from the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from stepagents.search.costs import CostModel
from stepagents.search.engine import Engine
from stepagents.search.options import Counters

_FIRST: Final = 400  # candidates before a second search begins; each further one begins at twice the last
_TURN: Final = 100  # candidates of one turn
_MOST: Final = 6
_SIGMA: Final = 0.4


def run_in_turns(make: Callable[[CostModel, bool], Engine], costs: CostModel, counters: Counters, alone: bool) -> bool:
    """Run searches in turns until one succeeds (True), or none may or can go on (False).

    ``make`` gives a search for a cost model, adaptive or not; all of them count in ``counters``. With ``alone``, only
    the first runs.
    """
    models = _models(costs)
    engines = [make(*next(models))]
    start = counters.candidates
    if alone:
        return engines[0].run()
    begin = _FIRST
    while True:
        before = counters.candidates
        for engine in engines:
            until = counters.candidates + (_FIRST if counters.candidates == start else _TURN)
            if engine.run(until):
                return True
            if counters.candidates < until and not engine.exhausted:
                return False  # it was told to stop
        if counters.candidates - start >= begin and len(engines) < _MOST:
            engines.append(make(*next(models)))
            begin *= 2
        elif counters.candidates == before:
            return False


def _models(costs: CostModel) -> Iterator[tuple[CostModel, bool]]:
    """Yield cost models, each with whether the search adapts it."""
    yield costs, False
    yield costs.flat().strict(), True
    yield costs.tempered(0.5).strict(), True
    for seed in range(_MOST):
        yield costs.disturbed(_SIGMA, seed), True
