"""Programs for a function from others than the lowering: the function as a task, for any proposer.

Where the lowering found programs, the task is that of the best one (its streams and functions), and what is wanted is a
better program; otherwise it is the function's own tensors and operations (:mod:`extraction`). What anybody writes is
verified against the user's function like programs of the lowering. Loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.given import given_task
from stepagents.lower.aten.calls import CannotLower
from stepagents.lower.emit import Emitted
from stepagents.lower.search import Lowering, adopt
from stepagents.proposers import find_proposer
from stepagents.proposers.programs import Programs, Proposed
from stepagents.torchfn.delivery.program import question_text
from stepagents.torchfn.extraction import extracted
from stepagents.traced.graph import TracedFunction
from stepcore.jobdata.plain import shared
from stepcore.jobdata.writing import FunctionRequest, ProposeRequest, WritingOptions
from stepcore.jobs import Context, JobError
from stepcore.jobs.proposers import AUTO, BY_NAME, SEARCH

_FALLBACK_SECONDS: Final = 10.0  # for a search that nobody asked for


def compose(traced: TracedFunction, found: Lowering, request: FunctionRequest, context: Context) -> tuple[str, str]:
    """Add programs as ``request`` asks for to what the lowering found.

    Returns the task without an answer, and why nobody else wrote a program; "" where there is nothing to say.
    """
    wanted = request.proposer or AUTO
    is_wanted = bool(request.impls) or wanted in BY_NAME or (wanted == AUTO and bool(found.unsupported))
    remark = ""
    try:
        base = found.candidates[0].emitted if found.candidates else extracted(traced)
        question = question_text(traced, base)
        _adopted(found, base, request.impls, request.writer or "a model")
        if is_wanted and not request.impls:
            remark = _asked(traced.name, found, base, question, request, context)
    except (CannotLower, JobError, ValueError) as error:  # also Unwritable, TooLarge and ConvertError
        return "", f"Stepsmith cannot express this function as a task because {error}" if is_wanted else ""
    if found.candidates:
        found.unsupported = []
    return question, remark


def _asked(name: str, found: Lowering, base: Emitted, question: str, request: FunctionRequest, context: Context) -> str:
    """Add what another proposer finds; return what is to be said about it."""
    entry = BY_NAME.get(request.proposer or AUTO, SEARCH)
    seconds = request.seconds or (entry.seconds if request.proposer == entry.name else _FALLBACK_SECONDS)
    options = shared(WritingOptions, request) | {"seconds": seconds}
    order = ProposeRequest(path=f"{name}.step.yaml", text=question, experiences=request.experiences, **options)
    task = given_task(order.path, question)
    programs = Programs(task)
    is_patient = bool(request.seconds) or entry.asks  # what waits for a network counts time in any case
    ended = find_proposer(entry.name)(task, order, context, programs, is_patient=is_patient)
    found.tried += ended.tried
    who = f"the {entry.name}"
    if not programs:
        tried = f"wrote no program: {ended.reason}" if entry.asks else _nothing(ended)
        return f"{who} {tried}"
    is_new = _adopted(found, base, programs.impls, request.model or "a model" if entry.asks else entry.name)
    verb = "wrote" if entry.asks else "found"
    return "" if is_new else f"{who} {verb} no program that is right for the function and new"


def _nothing(ended: Proposed) -> str:
    return f"found no program in {ended.tried:,} candidates: {ended.reason}"


def _adopted(found: Lowering, base: Emitted, impls: Sequence[str], writer: str) -> bool:
    """Add programs that are right and new; return whether there was one."""
    return sum(adopt(found, base, impl, writer) for impl in impls) > 0  # all of them, not up to the first
