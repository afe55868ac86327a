"""Sending a user's tasks and programs to a provider needs a yes: for once, or for a model and its host; revocable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stepagents.llm.providers import is_local, plain_host
from stepcore.system.scarce import reason_of
from stepcore.text.files import Unusable, read_file, write_atomically
from stepcore.text.wording import one_line

FILE_NAME: Final = "send-to-provider.json"
_LOCK_SECONDS: Final = 30.0  # until another answer that is being written is no longer waited for
_OPEN: Final = "http://"  # in front of a host to which nothing is encrypted
_QUESTION: Final = """The task, programs tried for it with what the checker said, and earlier solutions of
yours as examples would be sent to {model} at {host}.
  [o]nce, [a]lways to this model there, [n]ever to {host}{show}; anything else: not now
Answers are kept in {path}; --no-send-to-provider takes them back. """
_SHOW: Final = ", [s]how what is sent"
_MISSING: Final = (
    "nothing was sent: your tasks and programs would go to {model} at {host}, and you have not agreed to that yet. "
    "Agree with --send-to-provider, which is kept for this model there; `synth --show-request` shows what is sent"
)
_REFUSED: Final = "nothing was sent: sending to {host} was refused {where}; --send-to-provider changes that"
_WORDS: Final = {"o": "once", "a": "always", "n": "never", "s": "show"}


class ConsentError(Exception):
    """There is no consent. The message names the provider's host and says how to give it."""


def default_folder() -> Path:
    """Return the folder of this user's settings."""
    from platformdirs import user_config_path

    return user_config_path("stepsmith", appauthor=False)


def require_consent(
    base_url: str,
    model: str,
    *,
    option: bool | None = None,
    configured: bool | None = None,
    folder: Path | None = None,
    ask: Callable[[str], str] | None = None,
    preview: Callable[[], None] | None = None,
) -> None:
    """Return when tasks and programs may be sent to ``model`` at ``base_url``; this machine needs no consent.

    A yes that is kept holds for the model and its host, and without encryption only where that was asked for; a no
    holds for the host.

    Args:
        base_url: of the endpoint.
        model: what the endpoint calls it.
        option: ``--send-to-provider`` (True) or ``--no-send-to-provider`` (False); either is remembered.
        configured: ``send_to_provider`` of the project's configuration. It can only forbid: a file that comes with a
            project cannot agree for its user.
        folder: where answers are kept, by default the user's configuration.
        ask: asks the user; None where nobody can be asked.
        preview: shows the user the text of the first request.

    Raises:
        ConsentError: it was refused, or nobody can be asked.
    """
    if is_local(base_url):
        return
    host, place = host_of(base_url), place_of(base_url)
    if option is not None:
        remember(place, model, option, folder)
    kept = choices(folder)
    if option is False or (option is None and configured is False) or _is_refused(kept, host):
        where = "just now" if option is False else "in the configuration" if configured is False else "before"
        raise ConsentError(_REFUSED.format(host=host, where=where))
    if not kept.get(f"{place} {model}"):
        _ask_for(place, model, folder, ask, preview)


def host_of(base_url: str) -> str:
    """Return the host of an endpoint, in one spelling, with its port where that is not the usual one."""
    parts = urlsplit(base_url)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    host = plain_host(base_url) or base_url
    if ":" in host:  # an IP address, which would run into its port without the brackets
        host = f"[{host}]"
    return host + (f":{parts.port}" if parts.port not in (None, usual) else "")


def place_of(base_url: str) -> str:
    """Return what a yes to send there holds for: the host, with ``http://`` in front where nothing is encrypted."""
    host = host_of(base_url)
    return host if urlsplit(base_url).scheme == "https" else _OPEN + host


def _is_refused(kept: Mapping[str, bool], host: str) -> bool:
    """Return whether a no is kept for the host; earlier versions wrote IP addresses without brackets."""
    return kept.get(host) is False or ("[" in host and kept.get(host.replace("[", "").replace("]", "")) is False)


def choices(folder: Path | None = None) -> dict[str, bool]:
    """Return all answers that are kept: False by host, True by ``"HOST MODEL"``, or ``"http://HOST MODEL"``.

    Those of a file that cannot be read count as not given, and so does a yes of earlier versions, which named no model.
    """
    return _read((folder or default_folder()) / FILE_NAME) or {}


def _read(path: Path) -> dict[str, bool] | None:
    """Return the answers of a file, None where it cannot be read."""
    try:
        found = json.loads(read_file(path).text)
    except (Unusable, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {place: given for place, given in found.items() if given is (" " in place)}


def remember(host: str, model: str, given: bool, folder: Path | None = None) -> None:
    """Keep an answer: a yes for the model at the host, a no for the whole host, which a later yes takes back.

    ``host`` is that of :func:`host_of`, with ``http://`` in front where nothing is encrypted. A file that cannot
    be read is put aside, as answers may be in it.

    Raises:
        ConsentError: it cannot be kept.
    """
    path = (folder or default_folder()) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            earlier = _read(path)
            if earlier is None and path.is_file():
                path.replace(path.with_name(f"{path.name}.damaged"))
            kept = _with(earlier or {}, host, model, given)
            write_atomically(path, (json.dumps(kept, indent=2, sort_keys=True) + "\n").encode("utf-8"))
    except OSError as error:
        raise ConsentError(f"{one_line(path)}: your answer cannot be kept: {reason_of(error)}") from error


def _with(kept: Mapping[str, bool], host: str, model: str, given: bool) -> dict[str, bool]:
    """Return the answers with one more, and without those that it takes back."""
    bare = host.removeprefix(_OPEN)
    found = {
        place: known
        for place, known in kept.items()
        if place.partition(" ")[0].removeprefix(_OPEN) != bare or (known and given)
    }
    found[f"{host} {model}" if given else bare] = given
    return found


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes and threads from changing the file of answers between reading and writing it.

    Raises:
        OSError: the lock cannot be had; its holder needs it for moments only.
    """
    from filelock import FileLock

    with FileLock(path.with_name(f"{path.name}.lock"), timeout=_LOCK_SECONDS):
        yield


def _ask_for(
    host: str,
    model: str,
    folder: Path | None,
    ask: Callable[[str], str] | None,
    preview: Callable[[], None] | None,
) -> None:
    """Ask until there is an answer, and keep it.

    Raises:
        ConsentError: it is no yes, or nobody can be asked.
    """
    if ask is None:
        raise ConsentError(_MISSING.format(host=host, model=one_line(model)))
    path = one_line((folder or default_folder()) / FILE_NAME)
    question = _QUESTION.format(host=host, model=one_line(model), path=path, show=_SHOW if preview else "")
    while True:
        word = ask(question).strip().lower()
        match _WORDS.get(word, word):
            case "show" if preview is not None:
                preview()
            case "once":
                return
            case "always":
                remember(host, model, True, folder)
                return
            case "never":
                remember(host, model, False, folder)
                raise ConsentError(_REFUSED.format(host=host.removeprefix(_OPEN), where="just now"))
            case _:
                raise ConsentError(f"nothing was sent: you did not agree to send to {host}")
