"""The last check before a delivery: the file itself, read and run as ``stepsmith verify`` does. Loads torch."""

from __future__ import annotations

from pathlib import Path

from stepagents.torchfn.target import Target
from stepcore.jobs import JobError
from stepcore.sim.errors import SimError
from stepcore.sim.worker_tasks import candidates


def fault(text: str, file: Path, target: Target) -> str:
    """Return why the program ``text``, which will be ``file``, is not accepted; an empty text where it is.

    A Python program calls the user's function as it is on disk, so nothing can be said while that has unsaved changes.
    """
    if file.suffix == ".py" and not _is_saved(target):
        return ""
    try:
        (candidate,) = candidates({"path": str(file), "text": text})
        verdict = candidate.session.verify(candidate.checked)
    except (JobError, SimError) as error:
        return f"the delivered file cannot be verified: {error.code} {error.message}"
    return "" if verdict.accepted else f"the delivered file is not accepted: {verdict.detail}"


def _is_saved(target: Target) -> bool:
    try:
        return Path(target.path).read_text(encoding="utf-8") == target.text
    except (OSError, UnicodeDecodeError):
        return False
