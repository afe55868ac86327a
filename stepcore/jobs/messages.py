"""The messages between an owner and its workers: one JSON object a line, with ``type`` and ``job``.

``job`` is a text that nobody can guess: lines that a program writes into the pipe belong to no job.

=========  ===============  =====================================================================
type       sender           further keys
=========  ===============  =====================================================================
hello      worker           ``version``, ``protocol``, ``home`` (the folder that holds its stepcore), ``pid`` (as the
                            owner sees it), ``isolation`` (what is in force, see :mod:`stepcore.isolation`); the first
                            line, once the worker is ready
start      owner            ``kind``, ``payload``
begin      worker           -; it has taken the job up
progress   worker           ``data``
ask        worker           ``ask`` (a number), ``question``
answer     owner            ``ask``, and ``value`` or ``error``
cancel     owner            -
conclude   owner            -; the job is to end with what it has
result     worker           ``value``
error      worker           ``code``, ``message``, ``detail``, ``trace`` (for the debug log only)
=========  ===============  =====================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Final

from stepcore.jobdata.failures import FailureDetail
from stepcore.text.wording import one_line

PROTOCOL: Final = 4
HOME: Final = str(Path(__file__).parents[2])
MOST_LINE: Final = 64 << 20  # bytes of one message

# Names of variables through which an owner tells a worker its limits and what it may do.
MEMORY_VARIABLE: Final = "STEPSMITH_WORKER_MEMORY"
OWNER_VARIABLE: Final = "STEPSMITH_WORKER_OWNER"
ISOLATION_VARIABLE: Final = "STEPSMITH_WORKER_ISOLATION"

# What a worker's messages have to hold; it may run code that writes into its pipe.
_KEYS: Final[dict[str, dict[str, type]]] = {
    "progress": {"data": object},
    "ask": {"ask": int, "question": object},
    "result": {"value": object},
    "error": {"code": str, "message": str},
}

JobCancelled = CancelledError


class JobError(Exception):
    """A job failed. ``code`` is one of :mod:`stepcore.findings.codes`, ``message`` is for people.

    ``detail`` is for the caller (for example a line number), ``trace`` a traceback for the debug log.
    """

    def __init__(self, code: str, message: str, detail: FailureDetail | None = None, trace: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail: FailureDetail = detail or {}
        self.trace = trace

    def place(self, path: str | Path) -> str:
        """Return ``path:line:column`` as far as it is known; ``path`` is what the job was about."""
        place = one_line(self.detail.get("path") or path)
        if self.detail.get("line") is not None:
            place += f":{self.detail['line']}"
            if self.detail.get("column") is not None:
                place += f":{self.detail['column']}"
        return place


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the line of ``message``. NaN and infinities pass as Python's ``json`` spells them."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the message of a line; ``ValueError`` when it is none, or lacks a key that its type has."""
    try:
        message = json.loads(line)
    except RecursionError:
        raise ValueError("lists and objects within each other, too deep to be read") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ValueError("not a message")
    if not isinstance(message.get("job", ""), str):
        raise ValueError("not the key of a job")
    for key, kind in _KEYS.get(message["type"], {}).items():
        if key not in message or not isinstance(message[key], kind):
            raise ValueError(f"a message of type {message['type']!r} without {key}")
    return message
