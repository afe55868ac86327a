"""The proposer ``search``: several type-directed searches, each with other costs. Loads torch.

Of the order: ``seconds``, ``solutions``, ``samples`` (candidates of one search), ``seed``, and ``costs`` or
``experiences``, which teach it.
"""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Final

from stepagents.proposers.programs import Programs, Proposed
from stepagents.search.costs import CostModel
from stepagents.search.options import Counters
from stepagents.search.proposer import SearchOptions, synthesize, use_one_thread
from stepcore.graph.task import TaskFile
from stepcore.jobdata.writing import ProposeRequest, WritingProgress
from stepcore.jobs import Context
from stepcore.jobs.proposers import SEARCH

# Searches after the first get other costs, so that they are likely to find another program.
_NOISE: Final = 0.3
_AFTER_FIRST: Final = 0.25  # share of the time that looking for further programs may take
_EVERY: Final = 0.2  # seconds between two reports


def propose(
    task: TaskFile, order: ProposeRequest, context: Context, programs: Programs, *, is_patient: bool = True
) -> Proposed:
    """Add what searches with several costs find; see :class:`stepagents.proposers.Propose`."""
    use_one_thread()
    clock = perf_counter if is_patient else process_time
    budget, seed = SEARCH.seconds if order.seconds is None else order.seconds, order.seed or 0
    learned = _learned(order)
    start, told = clock(), perf_counter()
    tried, streams, reason, note = 0, 0, "", ""

    def progress(counters: Counters) -> bool:
        nonlocal told
        if perf_counter() - told > _EVERY:
            told = perf_counter()
            text = f"{tried + counters.candidates:,} candidates tried, {len(programs)} found"
            context.progress(WritingProgress(text, "search", tried + counters.candidates))
        return not context.cancelled

    for number in range(order.solutions):
        left = budget - (clock() - start)
        if number and (not programs or left <= 0 or context.cancelled):
            break
        options = SearchOptions(
            seconds=left if number == 0 else min(left, _AFTER_FIRST * budget),
            candidates=SEARCH.samples if order.samples is None else order.samples,
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


def _learned(order: ProposeRequest) -> CostModel:
    """Return the costs of moves that the order brings, or that its experience teaches."""
    if order.costs:
        return CostModel.from_json(order.costs)
    if not order.experiences:
        return CostModel()
    from stepagents.prior import search_costs

    return search_costs(order.experiences)
