"""Sending a user's tasks and programs to a provider needs a yes: given once for each provider, kept, and revocable."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stepagents.llm.providers import is_local
from stepcore.cli.files import write_atomically

FILE_NAME: Final = "send-to-provider.json"
_QUESTION: Final = (
    "The task, programs tried for it, and earlier solutions of yours as examples will be sent to {host}. Is that all "
    "right? The answer is kept in {path}; --no-send-to-provider takes it back. [y/N] "
)
_MISSING: Final = (
    "nothing was sent: your tasks and programs would go to {host}, and you have not agreed to that yet. Agree with "
    "--send-to-provider, which is kept for this provider"
)
_REFUSED: Final = "nothing was sent: sending to {host} was refused {where}; --send-to-provider changes that"


class ConsentError(Exception):
    """There is no consent. The message names the provider's host and says how to give it."""


def default_folder() -> Path:
    """Return the folder of this user's settings."""
    from platformdirs import user_config_path

    return user_config_path("stepsmith", appauthor=False)


def require_consent(
    base_url: str,
    *,
    option: bool | None = None,
    configured: bool | None = None,
    folder: Path | None = None,
    ask: Callable[[str], str] | None = None,
) -> None:
    """Return when tasks and programs may be sent to ``base_url``; endpoints on this machine need no consent.

    Args:
        base_url: of the endpoint; consent is given by host.
        option: ``--send-to-provider`` (True) or ``--no-send-to-provider`` (False); either is remembered.
        configured: ``send_to_provider`` of the project's configuration. It can only forbid: a file that comes with a
            project cannot agree for its user.
        folder: where answers are kept, by default the user's configuration.
        ask: asks the user; by default on the terminal, and nobody where standard input is none.

    Raises:
        ConsentError: it was refused, or nobody can be asked.
    """
    if is_local(base_url):
        return
    host = urlsplit(base_url).hostname or base_url
    if option is not None:
        remember(host, option, folder)
    forbidden = False if configured is False else None
    given = next((choice for choice in (option, forbidden, remembered(host, folder)) if choice is not None), None)
    if given is None:
        given = _asked(host, folder, ask)
        remember(host, given, folder)
    if not given:
        where = "just now" if option is False else "in the configuration" if configured is False else "before"
        raise ConsentError(_REFUSED.format(host=host, where=where))


def remembered(host: str, folder: Path | None = None) -> bool | None:
    """Return the answer that was given for ``host``, None where none was."""
    return choices(folder).get(host)


def choices(folder: Path | None = None) -> dict[str, bool]:
    """Return all answers that are kept, by host; those of a file that cannot be read count as not given."""
    path = (folder or default_folder()) / FILE_NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {host: given for host, given in found.items() if isinstance(given, bool)} if isinstance(found, dict) else {}


def remember(host: str, given: bool, folder: Path | None = None) -> None:
    """Keep an answer.

    Raises:
        ConsentError: it cannot be kept.
    """
    path = (folder or default_folder()) / FILE_NAME
    kept = {**choices(folder), host: given}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(kept, indent=2, sort_keys=True) + "\n").encode("utf-8"))
    except OSError as error:
        raise ConsentError(f"{path}: your answer cannot be kept: {error}") from error


def _asked(host: str, folder: Path | None, ask: Callable[[str], str] | None) -> bool:
    if ask is None:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            raise ConsentError(_MISSING.format(host=host))
        ask = _on_terminal
    path = (folder or default_folder()) / FILE_NAME
    return ask(_QUESTION.format(host=host, path=path)).strip().lower() in ("y", "yes")


def _on_terminal(question: str) -> str:
    print(f"stepsmith: {question}", end="", file=sys.stderr, flush=True)  # standard output is for results
    return sys.stdin.readline()
