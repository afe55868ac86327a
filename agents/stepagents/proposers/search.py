"""The proposer ``search``: several type-directed searches, each with other costs. Loads torch.

Of the order: ``seconds``, ``solutions``, ``samples`` (candidates of one search), ``seed``, and ``costs`` or
``experiences``, which teach it. Progress tells ``stage``, ``text`` and ``candidates``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter, process_time
from typing import Any, Final

from stepagents.proposers.programs import Programs, Proposed
from stepagents.sampling import Experience
from stepagents.search.costs import CostModel
from stepagents.search.options import Counters
from stepagents.search.proposer import SearchOptions, synthesize, use_one_thread
from stepcore.graph.task import TaskFile
from stepcore.jobs import Context
from stepcore.jobs.proposers import SEARCH

# Searches after the first get other costs, so that they are likely to find another program.
_NOISE: Final = 0.3
_AFTER_FIRST: Final = 0.25  # share of the time that looking for further programs may take
_EVERY: Final = 0.2  # seconds between two reports


def propose(
    task: TaskFile, order: Mapping[str, Any], context: Context, programs: Programs, *, is_patient: bool = True
) -> Proposed:
    """Add what searches with several costs find; see :class:`stepagents.proposers.Propose`."""
    use_one_thread()
    clock = perf_counter if is_patient else process_time
    budget, wanted, seed = order.get("seconds", SEARCH.seconds), order.get("solutions", 3), order.get("seed", 0)
    learned = _learned(order)
    start, told = clock(), perf_counter()
    tried, streams, reason, note = 0, 0, "", ""

    def progress(counters: Counters) -> bool:
        nonlocal told
        if perf_counter() - told > _EVERY:
            told = perf_counter()
            text = f"{tried + counters.candidates:,} candidates tried, {len(programs)} found"
            context.progress({"stage": "search", "text": text, "candidates": tried + counters.candidates})
        return not context.cancelled

    for number in range(wanted):
        left = budget - (clock() - start)
        if number and (not programs or left <= 0 or context.cancelled):
            break
        options = SearchOptions(
            seconds=left if number == 0 else min(left, _AFTER_FIRST * budget),
            candidates=order.get("samples", SEARCH.samples),
            clock=clock,
            seed=seed + number,
            costs=learned if number == 0 else learned.disturbed(_NOISE, seed + number),
            progress=progress,
        )
        outcome = synthesize(task, options)
        tried, streams = tried + outcome.candidates, streams + outcome.streams
        if outcome.solved:
            programs.add(outcome.impl)
            note = note or outcome.note
        elif number == 0:
            reason = outcome.reason
    return Proposed(reason, tried, note, {"streams": streams})


def _learned(order: Mapping[str, Any]) -> CostModel:
    """Return the costs of moves that the order brings, or that its experience teaches."""
    if order.get("costs"):
        return CostModel.from_json(order["costs"])
    experiences: Sequence[Mapping[str, Any]] = order.get("experiences") or ()
    if not experiences:
        return CostModel()
    from stepagents.prior import search_costs

    return search_costs([Experience(**item) for item in experiences])
