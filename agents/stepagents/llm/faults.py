"""What can go wrong between a prompt and an answer, each under its own name."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Fault(StrEnum):
    """How a request ended that brought no answer worth judging. The values are the names under which they count."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    UNKNOWN_HOST = "unknown host"
    CERTIFICATE = "certificate"  # of the host, which nobody vouches for
    RATE_LIMITED = "rate limited"
    SERVER_ERROR = "server error"
    NOT_JSON = "not JSON"
    CUT_OFF = "cut off"
    TRUNCATED = "truncated"
    TOO_LONG = "too long"
    REFUSED = "refused"
    EMPTY = "empty"
    BAD_REQUEST = "bad request"
    PROMPT_TOO_LONG = "prompt too long"
    AUTHENTICATION = "authentication"
    NOT_FOUND = "no such model or address"
    NO_CREDIT = "no credit"
    BUDGET = "budget"
    NOT_SENT = "not sent"  # the user did not let it go
    OTHER = "other"


# A further attempt may go well.
TRANSIENT: Final = frozenset(
    {Fault.TIMEOUT, Fault.CONNECTION, Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.NOT_JSON, Fault.CUT_OFF}
)
# Every further request would end the same way.
FATAL: Final = frozenset(
    {
        Fault.AUTHENTICATION, Fault.NOT_FOUND, Fault.NO_CREDIT, Fault.BUDGET, Fault.NOT_SENT,
        Fault.UNKNOWN_HOST, Fault.CERTIFICATE,
    }
)  # fmt: skip
# The model answered, and was paid for it: asking again with the same prompt and index would pay twice.
ANSWERED: Final = frozenset({Fault.TRUNCATED, Fault.TOO_LONG, Fault.REFUSED, Fault.EMPTY})
# The model may have worked until the connection ended: what was reserved counts as spent.
MAYBE_PAID: Final = frozenset({Fault.TIMEOUT, Fault.CUT_OFF, Fault.TOO_LONG})
