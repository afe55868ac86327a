"""The last check before a delivery: the file itself, read and run as ``stepsmith verify`` does. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from stepagents.torchfn.target import Target
from stepcore.findings.errors import SimError
from stepcore.jobdata.programs import VerifyRequest
from stepcore.jobs import JobError
from stepcore.records import Record
from stepcore.sim.worker.composed import batched, judged_compositions
from stepcore.sim.worker.tasks import candidates


class Proof(Record):
    """Why a file is not accepted (empty where it is), and what its verdict is not worth, as a note."""

    fault: str = ""
    note: str = ""


def proof(text: str, file: Path, target: Target, dims: Mapping[str, int] | None = None) -> Proof:
    """Verify the program ``text``, which will be ``file``, at its own sizes or at ``dims``.

    A Python program calls the user's function as it is on disk, so nothing can be said while that has unsaved changes.
    """
    if file.suffix == ".py" and not _is_saved(target):
        return Proof()
    try:
        (candidate,) = candidates(VerifyRequest(str(file), text, dims=dict(dims or {})))
        verdict = candidate.verify()
    except (JobError, SimError) as error:
        return Proof(f"the delivered file cannot be verified: {error.code} {error.message}")
    if not verdict.accepted:
        return Proof(f"the delivered file is not accepted: {verdict.detail}")
    return Proof(note="" if verdict.untested is None else verdict.untested.coded)


def network_proof(text: str, file: Path, target: Target, tell: Callable[[], None]) -> Proof:
    """Verify the programs of a network's file, each against its reference, and their composition against the function.

    ``tell`` is called before each.
    """
    if not _is_saved(target):
        return Proof("the file has unsaved changes, and a network is compared with the function as it is on disk")
    request = batched(VerifyRequest(str(file), text))
    try:
        found = candidates(request)
        for candidate in found:
            tell()
            if not candidate.session.world.has_reference:
                continue  # the composition judges it
            verdict = candidate.verify()
            if not verdict.accepted:
                return Proof(f"the delivered program {candidate.name} is not accepted: {verdict.detail}")
        tell()
        (judged,) = judged_compositions(request, found)
    except (JobError, SimError) as error:
        return Proof(f"the delivered file cannot be verified: {error.code} {error.message}")
    if not judged.verdict.accepted:
        return Proof(f"the layers are right, but not the whole: {judged.verdict.detail}")
    return Proof()


def _is_saved(target: Target) -> bool:
    try:
        return Path(target.path).read_text(encoding="utf-8") == target.text
    except (OSError, UnicodeDecodeError):
        return False
