"""The job ``sizes`` of the agents' worker: sizes for a function, proposed and checked. Loads torch."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import torch

from stepagents.shapes.dtypes import retyped
from stepagents.shapes.particular import chosen
from stepagents.shapes.proposal import SizedArgument, SizesProposal, check, propose, written_down
from stepagents.torchfn.dims import Partial, completed, unknown_sizes
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import NO_FUNCTION, Refused, refuse
from stepagents.torchfn.target import Target, find_target
from stepcore.jobdata.writing import ProposedSizes, SizesRequest
from stepcore.jobs import Context


def sizes(request: SizesRequest, context: Context) -> ProposedSizes:
    """Return sizes of the arguments that ``inputs`` miss.

    ``problem`` says why the function does not run at the sizes of all arguments, those of ``inputs`` included.

    Raises:
        JobError: there is no such function, or its file cannot be imported; ``detail`` holds all findings.
    """
    path = request.path
    if not request.trusted:
        what = "finding sizes runs the file, and this workspace is not trusted"
        raise refuse(NO_FUNCTION, what, path, advice="trust the workspace first").as_job_error()
    torch.set_num_threads(1)
    try:
        target = find_target(path, request.text, request.selector)
        guard = Guard(path, target.line, request.call_seconds, lambda: context.cancelled)
        return _found(target, request, guard).record(target.name, target.line)
    except Refused as error:
        raise error.as_job_error(request.text) from error


def _found(target: Target, request: SizesRequest, guard: Guard) -> SizesProposal:
    choice = chosen(target, request.inputs, request.dims, guard)
    found = _sized(target, choice.told, request, guard)
    if found.problem and choice.examples is not None:
        other = _sized(target, choice.examples, request, guard)
        found = found if other.problem else other
    return replace(found, problem=f"{found.problem} ({choice.note})") if found.problem and choice.note else found


def _sized(target: Target, partial: Partial, request: SizesRequest, guard: Guard) -> SizesProposal:
    asked = {text.partition("=")[0].strip() for text in request.inputs}
    if partial.can_be_inferred:
        return _inferred(target, partial.loosened, asked, request, guard)
    written = _written(partial, asked)
    description = completed(target, partial)
    refused = check(target, description, guard)
    if refused is None:
        return SizesProposal(written)
    other = retyped(target, description, guard)
    if other is not None and check(target, other, guard) is None:
        meant = {item.name: item for item in other.arguments or ()}
        return SizesProposal([written_down(meant[item.name]) for item in written])
    if partial.loose:  # the comment means something else than its words say
        found = _inferred(target, partial.loosened, asked, request, guard)
        if not found.problem:
            return found
    return SizesProposal(written, str(refused), refused.findings[0].line)


def _inferred(
    target: Target, partial: Partial, asked: Container[str], request: SizesRequest, guard: Guard
) -> SizesProposal:
    found = propose(target, partial, guard, folder_of(request))
    return replace(found, arguments=[*_written(partial, asked), *found.arguments])


def _written(partial: Partial, asked: Container[str]) -> list[SizedArgument]:
    return [written_down(item) for name, item in partial.found.items() if item.is_tensor and name not in asked]


def folder_of(request: SizesRequest) -> Path | None:
    """Return the folder whose files may call the function; None where the owner names none."""
    return Path(request.root) if request.root else None


def unsettled(target: Target, partial: Partial, proposal: SizesProposal) -> Refused:
    """Return the refusal of a function of whose sizes some are open; its guess runs, unless its text says why not.

    What stands in the way at any sizes is told alone: nobody has to write down sizes to hear that they do not help.
    """
    if proposal.cause is not None:
        return proposal.cause
    first = partial.missing[0]
    if proposal.problem:
        why = f": no sizes were found at which it runs (line {proposal.line}: {proposal.problem})"
    else:
        names = " and ".join(item.name for item in proposal.arguments if item.is_open)
        why = f" (it runs at those below, and nothing tells {names})"
    return unknown_sizes(target, proposal.guess, first, why)
