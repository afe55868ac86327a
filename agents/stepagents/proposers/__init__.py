"""Proposers: each is a module with a function ``propose``, and a line of :data:`stepcore.jobs.proposers.PROPOSERS`.

They run in the agents' worker, on tasks; a function is made a task first. What they find is verified by them, and
again by whoever takes it. No torch on import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from stepcore.jobs import Context, JobError
from stepcore.jobs.proposers import BY_NAME

if TYPE_CHECKING:
    from stepagents.proposers.programs import Programs, Proposed
    from stepcore.graph.task import TaskFile
    from stepcore.jobdata.writing import ProposeRequest


class Propose(Protocol):
    """Adds verified programs for a task to ``programs``, and says how it went.

    ``order`` holds the task and what the proposer may spend and learn from; None is what nobody said. ``is_patient``:
    the seconds are the user's patience; otherwise nobody asked for it, and they count work. ``context`` hears of
    progress and tells when the job is cancelled.
    """

    def __call__(
        self, task: TaskFile, order: ProposeRequest, context: Context, programs: Programs, *, is_patient: bool = True
    ) -> Proposed:
        """Return how it went. Raises JobError for an order that cannot be used."""


def find_proposer(name: str) -> Propose:
    """Return the proposer that a job names.

    Raises:
        JobError: STEP907, there is none of this name.
    """
    if name not in BY_NAME:
        raise JobError("STEP907", f"proposer has to be one of {', '.join(BY_NAME)}")
    return cast("Propose", import_module(f"stepagents.proposers.{name}").propose)
