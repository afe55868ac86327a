"""The jobs of the agents' worker that write programs for one task: several for an editor, or the best for a command.

``propose`` is for editors; the job with the name of a proposer has it write one program, for commands. Progress tells
``text`` and ``candidates``.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from stepagents.given import given_task
from stepagents.proposers import find_proposer
from stepagents.proposers.programs import Programs, Proposed
from stepcore.jobdata.writing import ProposeRequest, ProposeResult, SampleResult
from stepcore.jobs import Context, JobCancelled
from stepcore.jobs.proposers import SEARCH


def propose(request: ProposeRequest, context: Context) -> ProposeResult:
    """Return distinct programs of ``request.proposer``, the search by default.

    Raises:
        JobError: the file holds no usable task, or there is no such proposer.
        JobCancelled: cancelled before anything was found.
    """
    programs, found = _asked(request.proposer or SEARCH.name, request, context)
    if context.cancelled and not programs:
        raise JobCancelled
    return ProposeResult(tuple(programs.described()[: request.solutions]), found.reason, found.tried)


def sample(proposer: str, request: ProposeRequest, context: Context) -> SampleResult:
    """Return what came of an order for one program.

    Raises:
        JobError: the file holds no usable task.
    """
    start = perf_counter()
    programs, found = _asked(proposer, replace(request, solutions=1), context)
    impl = programs.impls[0] if programs else ""
    seconds = perf_counter() - start
    return SampleResult(bool(programs), impl, found.reason, found.tried, found.note, seconds, dict(found.details))


def _asked(proposer: str, request: ProposeRequest, context: Context) -> tuple[Programs, Proposed]:
    """Have a proposer work on the task of a request."""
    ask = find_proposer(proposer)
    task = given_task(request.path, request.text)
    programs = Programs(task)
    return programs, ask(task, request, context, programs)
