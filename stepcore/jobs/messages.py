"""The messages between an owner and its workers: one JSON object a line, with ``type`` and ``job``.

=========  ===============  =====================================================================
type       sender           further keys
=========  ===============  =====================================================================
hello      worker           ``version``, ``protocol``; the first line, once the worker is ready
start      owner            ``kind``, ``payload``
begin      worker           -; it has taken the job up
progress   worker           ``data``
ask        worker           ``ask`` (a number), ``question``
answer     owner            ``ask``, and ``value`` or ``error``
cancel     owner            -
result     worker           ``value``
error      worker           ``code``, ``message``, ``detail``, ``trace`` (for the debug log only)
=========  ===============  =====================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import Any, Final

PROTOCOL: Final = 2

# Names of variables through which an owner tells a worker its limits.
MEMORY_VARIABLE: Final = "STEPSMITH_WORKER_MEMORY"
OWNER_VARIABLE: Final = "STEPSMITH_WORKER_OWNER"

JobCancelled = CancelledError


class JobError(Exception):
    """A job failed. ``code`` is one of :mod:`stepcore.codes`, ``message`` is for people.

    ``detail`` is plain data for the caller (for example a line number), ``trace`` a traceback for the debug log.
    """

    def __init__(self, code: str, message: str, detail: Mapping[str, Any] | None = None, trace: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})
        self.trace = trace


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the line of ``message``. NaN and infinities pass as Python's ``json`` spells them."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the message of a line; ``ValueError`` when it is none."""
    message = json.loads(line)
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ValueError("not a message")
    return message
