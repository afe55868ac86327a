"""The jobs of the agents' worker that write programs for one task: several for an editor, or the best for a command.

``propose`` is for editors. Payload: ``path`` and ``text`` of the task, ``proposer`` (a name of
:data:`stepcore.jobs.proposers.PROPOSERS`, ``search`` by default), and what else its order holds, see
:class:`stepagents.proposers.Propose`. Progress tells ``text`` and ``candidates``.

The job with the name of a proposer has it write one program, for commands; its payload is that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from stepagents.given import given_task
from stepagents.proposers import find_proposer
from stepagents.proposers.programs import Programs, Proposed
from stepcore.jobdata.plain import written
from stepcore.jobdata.sampling import SampleResult
from stepcore.jobs import Context, JobCancelled
from stepcore.jobs.proposers import SEARCH


def propose(payload: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return ``solutions`` (``impl``, ``operators``, ``on_chip_bytes``, ``off_chip_bytes``, ``streaming_degree``,
    ``compulsory_bytes``, ``traffic_ratio``, ``sizes``).

    The solutions are distinct, the cheapest first; ``reason`` says why there are none, ``candidates`` how many were
    tried.

    Raises:
        JobError: the file holds no usable task, or there is no such proposer.
        JobCancelled: cancelled before anything was found.
    """
    programs, found = _asked(payload.get("proposer") or SEARCH.name, payload, context)
    if context.cancelled and not programs:
        raise JobCancelled
    solutions = programs.described()[: payload.get("solutions", 3)]
    return {"solutions": solutions, "reason": found.reason, "candidates": found.tried}


def sample(proposer: str, payload: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return a :class:`stepcore.jobdata.sampling.SampleResult` as JSON.

    Raises:
        JobError: the file holds no usable task.
    """
    start = perf_counter()
    programs, found = _asked(proposer, {**payload, "solutions": 1}, context)
    impl = programs.impls[0] if programs else ""
    seconds = perf_counter() - start
    return written(
        SampleResult(bool(programs), impl, found.reason, found.tried, found.note, seconds, dict(found.details))
    )


def _asked(proposer: str, payload: Mapping[str, Any], context: Context) -> tuple[Programs, Proposed]:
    """Have a proposer work on the task of a payload."""
    ask = find_proposer(proposer)
    task = given_task(payload["path"], payload["text"])
    programs = Programs(task)
    return programs, ask(task, payload, context, programs)
