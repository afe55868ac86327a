"""Programs for a function from others than the lowering: the function as a task, the search, a model's answers.

Where the lowering found programs, the task is that of the best one (its streams and functions), and what is wanted is a
better program; otherwise it is the function's own tensors and operations (:mod:`extraction`). What anybody writes is
verified against the user's function like programs of the lowering. Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

from stepagents.given import given_task
from stepagents.jobs.propose import Programs, from_search
from stepagents.lower.aten.calls import CannotLower
from stepagents.lower.emit import Emitted
from stepagents.lower.search import Lowering, adopt
from stepagents.sampling import Experience
from stepagents.torchfn.delivery.program import question_text
from stepagents.torchfn.extraction import extracted
from stepagents.torchfn.target import Target
from stepagents.traced.graph import TracedFunction
from stepcore.jobs import Context, JobError

_FALLBACK_SECONDS: Final = 10.0  # for a search that nobody asked for


@dataclass(frozen=True, slots=True)
class Composing:
    """A traced function, where its programs will stand, and what the lowering found so far; that is added to."""

    traced: TracedFunction
    target: Target
    folder: Path
    found: Lowering


def compose(work: Composing, payload: Mapping[str, Any], context: Context) -> tuple[str, str]:
    """Add programs as ``payload`` asks for; return the task without an answer, and why nobody else wrote a program.

    Both texts are empty where there is nothing to say.
    """
    found, proposer = work.found, payload.get("proposer") or "auto"
    impls = payload.get("impls") or ()
    is_wanted = bool(impls) or proposer in _ASKS or (proposer == "auto" and bool(found.unsupported))
    remark = ""
    try:
        base = found.candidates[0].emitted if found.candidates else extracted(work.traced)
        question = question_text(work.traced, work.target, base, work.folder)
        _adopted(found, base, impls, payload.get("writer") or "a model")
        if is_wanted and not impls:
            remark = _ASKS.get(proposer, _search)(work, base, question, payload, context)
    except (CannotLower, JobError, ValueError) as error:  # also Unwritable, TooLarge and ConvertError
        return "", f"Stepsmith cannot express this function as a task because {error}" if is_wanted else ""
    if found.candidates:
        found.unsupported = []
    return question, remark


def _search(work: Composing, base: Emitted, question: str, payload: Mapping[str, Any], context: Context) -> str:
    """Add what the search finds; return what is to be said about it."""
    task = given_task(f"{work.traced.name}.step.yaml", question)
    seconds = 60.0 if payload.get("proposer") == "search" else _FALLBACK_SECONDS
    options = {
        "seconds": payload.get("budget") or seconds,
        "solutions": payload.get("wanted", 3),
        "seed": payload.get("seed", 0),
        "costs": _learned(payload.get("experiences") or ()),
    }
    programs = Programs(task)
    clock = perf_counter if payload.get("budget") else process_time  # a budget that nobody gave counts work
    reason, tried = from_search(task, options, context, programs, clock)
    work.found.tried += tried
    if not programs.impls:
        return f"the search found no program in {tried:,} candidates: {reason}"
    is_new = _adopted(work.found, base, programs.impls, "search")
    return "" if is_new else "the search found no program that is right for the function and new"


def _ask(work: Composing, base: Emitted, question: str, payload: Mapping[str, Any], context: Context) -> str:
    """Let a model that the job's owner provides write programs; return why it wrote none."""
    from stepagents.jobs.write import OPTIONS, write

    order = {name: payload[name] for name in OPTIONS if name in payload}
    order |= {"path": f"{work.traced.name}.step.yaml", "text": question, "seconds": payload.get("budget") or 120.0}
    answer = write(order, context)
    work.found.tried += answer["answers"]
    if not answer["solutions"]:
        return f"the model wrote no program: {answer['problem'] or answer['reason']}"
    is_new = _adopted(work.found, base, answer["solutions"], payload.get("model") or "a model")
    return "" if is_new else "the model wrote no program that is right for the function and new"


def _adopted(found: Lowering, base: Emitted, impls: Sequence[str], writer: str) -> bool:
    """Add programs that are right and new; return whether there was one."""
    return sum(adopt(found, base, impl, writer) for impl in impls) > 0  # all of them, not up to the first


_ASKS: Final = {"search": _search, "model": _ask}


def _learned(experiences: Sequence[Mapping[str, Any]]) -> Any:
    """Return what experience teaches about the costs of moves, None where there is none."""
    if not experiences:
        return None
    from stepagents.prior import search_costs

    return search_costs([Experience(**item) for item in experiences]).as_json()


__all__ = ["Composing", "compose"]
