"""Programs for a function from others than the lowering: the function as a task, for any proposer.

Where the lowering found programs, the task is that of the best one (its streams and functions), and what is wanted is a
better program; otherwise it is the function's own tensors and operations (:mod:`extraction`). What anybody writes is
verified against the user's function like programs of the lowering. Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepagents.given import given_task
from stepagents.lower.aten.calls import CannotLower
from stepagents.lower.emit import Emitted
from stepagents.lower.search import Lowering, adopt
from stepagents.proposers import find_proposer
from stepagents.proposers.programs import Programs, Proposed
from stepagents.torchfn.delivery.program import question_text
from stepagents.torchfn.extraction import extracted
from stepagents.torchfn.target import Target
from stepagents.traced.graph import TracedFunction
from stepcore.jobs import Context, JobError
from stepcore.jobs.proposers import AUTO, BY_NAME, SEARCH

_FALLBACK_SECONDS: Final = 10.0  # for a search that nobody asked for
# What an order for a function passes on to its proposer.
_PASSED_ON: Final = ("samples", "repair", "model", "price", "answers_without_program", "experiences")


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
    found, wanted = work.found, payload.get("proposer") or AUTO
    impls = payload.get("impls") or ()
    is_wanted = bool(impls) or wanted in BY_NAME or (wanted == AUTO and bool(found.unsupported))
    remark = ""
    try:
        base = found.candidates[0].emitted if found.candidates else extracted(work.traced)
        question = question_text(work.traced, work.target, base, work.folder)
        _adopted(found, base, impls, payload.get("writer") or "a model")
        if is_wanted and not impls:
            remark = _asked(work, base, question, payload, context)
    except (CannotLower, JobError, ValueError) as error:  # also Unwritable, TooLarge and ConvertError
        return "", f"Stepsmith cannot express this function as a task because {error}" if is_wanted else ""
    if found.candidates:
        found.unsupported = []
    return question, remark


def _asked(work: Composing, base: Emitted, question: str, payload: Mapping[str, Any], context: Context) -> str:
    """Add what another proposer finds; return what is to be said about it."""
    entry = BY_NAME.get(payload.get("proposer") or AUTO, SEARCH)
    path = f"{work.traced.name}.step.yaml"
    seconds = entry.seconds if payload.get("proposer") == entry.name else _FALLBACK_SECONDS
    order = {name: payload[name] for name in _PASSED_ON if name in payload}
    order |= {"path": path, "text": question, "seconds": payload.get("budget") or seconds}
    order |= {"solutions": payload.get("wanted", 3), "seed": payload.get("seed", 0)}
    task = given_task(path, question)
    programs = Programs(task)
    is_patient = bool(payload.get("budget")) or entry.asks  # what waits for a network counts time in any case
    ended = find_proposer(entry.name)(task, order, context, programs, is_patient=is_patient)
    work.found.tried += ended.tried
    who = f"the {entry.name}"
    if not programs:
        tried = f"wrote no program: {ended.reason}" if entry.asks else _nothing(ended)
        return f"{who} {tried}"
    is_new = _adopted(work.found, base, programs.impls, payload.get("model") or "a model" if entry.asks else entry.name)
    verb = "wrote" if entry.asks else "found"
    return "" if is_new else f"{who} {verb} no program that is right for the function and new"


def _nothing(ended: Proposed) -> str:
    return f"found no program in {ended.tried:,} candidates: {ended.reason}"


def _adopted(found: Lowering, base: Emitted, impls: Sequence[str], writer: str) -> bool:
    """Add programs that are right and new; return whether there was one."""
    return sum(adopt(found, base, impl, writer) for impl in impls) > 0  # all of them, not up to the first


__all__ = ["Composing", "compose"]
