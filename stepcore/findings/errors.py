"""The error of a simulation that cannot go on. No torch here."""

from __future__ import annotations

from stepcore.findings.verdict import FunctionalPart
from stepcore.text.span import Span


class SimError(Exception):
    """A run stops. ``code`` is one of :mod:`stepcore.findings.codes`; ``node`` the index of the operator in the graph.

    ``span`` is the place in the text of a function or reference that failed. ``needed`` and ``limit`` are bytes,
    given for memory limits.
    """

    def __init__(
        self,
        code: str,
        message: str,
        node: int | None = None,
        *,
        span: Span | None = None,
        needed: int | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.node = node
        self.span = span
        self.needed = needed
        self.limit = limit

    def judged(self) -> FunctionalPart:
        """Return what it says of the values of the program that ran."""
        return FunctionalPart(False, self.message, code=self.code, span=self.span)
