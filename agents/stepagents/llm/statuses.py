"""Answers with an error status, as faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time
from typing import Any, Final

from stepagents.llm.faults import Fault
from stepagents.llm.reading import error_text
from stepagents.llm.transport import FaultError

_MAX_ERROR: Final = 1 << 16  # bytes of an error's body that are read
_LONG_PROMPT: Final = ("context_length", "context length", "maximum context", "prompt is too long", "too many tokens")
_NO_CREDIT: Final = ("insufficient_quota", "insufficient quota", "billing", "credit balance")
_REFUSAL: Final = ("moderation", "flagged", "content policy", "content_policy", "content_filter")


class StatusError(Exception):
    """An answer with an error status: what was read of it."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        super().__init__(str(status))
        self.status = status
        self.headers = headers
        self.data = data

    def fault(self, name: str, redact: Callable[[str], str]) -> FaultError:
        """Return the fault that this answer of endpoint ``name`` stands for."""
        message, code = error_text(self.data)
        message = redact(message)
        is_page = "html" in self.headers.get("content-type", "") or message.startswith("<")
        told = "a web page" if is_page else message or "no message"
        if 300 <= self.status < 400:
            told = "it leads elsewhere, where nothing is sent; give the address that is meant"
        fault = _fault(self.status, f"{code} {message}".lower())
        return FaultError(fault, f"{name} answered {self.status}: {told}", retry_after=_retry_after(self.headers))


async def stop_at_error(response: Any) -> None:
    """Read the beginning of an error's body and stop there; the ``openai`` package would read all of it.

    Raises:
        StatusError: the answer is no success.
    """
    if response.status_code < 300:
        return
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > _MAX_ERROR:
            break
    headers = {name.lower(): value for name, value in response.headers.items()}
    raise StatusError(response.status_code, headers, bytes(data[:_MAX_ERROR]))


def _fault(status: int, known: str) -> Fault:
    if any(words in known for words in _NO_CREDIT) and status in (400, 403, 429):
        return Fault.NO_CREDIT
    if any(words in known for words in _REFUSAL) and status in (400, 403, 451):
        return Fault.REFUSED
    match status:
        case 401 | 403:
            return Fault.AUTHENTICATION
        case 402:
            return Fault.NO_CREDIT
        case 404 | 405 | 410:
            return Fault.NOT_FOUND
        case 408 | 504:
            return Fault.TIMEOUT
        case 413:
            return Fault.PROMPT_TOO_LONG
        case 429:
            return Fault.RATE_LIMITED
    if status < 400:  # a redirect, which is not followed: it would take the code elsewhere
        return Fault.NOT_FOUND
    if status >= 500:
        return Fault.SERVER_ERROR
    return Fault.PROMPT_TOO_LONG if any(words in known for words in _LONG_PROMPT) else Fault.BAD_REQUEST


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks for: a number, or a date."""
    told = headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None
