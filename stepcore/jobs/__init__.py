"""Jobs in worker processes: the one way in which Stepsmith runs what may hang, crash or eat memory.

The owner keeps a :class:`Pool`; a worker runs :func:`serve`. They speak JSON lines over pipes. Standard library
only: an owner never imports torch, whatever its workers import.
"""

from stepcore.jobs.importing import importing
from stepcore.jobs.job import Job, Limits
from stepcore.jobs.messages import PROTOCOL, JobCancelled, JobError
from stepcore.jobs.pool import Pool
from stepcore.jobs.serving import Context, Handler, serve, serve_with

__all__ = [
    "PROTOCOL", "Context", "Handler", "Job", "JobCancelled", "JobError", "Limits", "Pool", "importing",
    "serve", "serve_with",
]  # fmt: skip
