"""How running a body fails, and the limits that keep it from hanging or filling the memory."""

from __future__ import annotations

from stepcore.fn.bulk import MAX_BITS, MAX_ITEMS, MAX_NUMBERS
from stepcore.records import Record
from stepcore.text.span import Span


class FnRuntimeError(Exception):
    """A body failed. ``span`` points into the file that declares it, ``code`` is of :mod:`stepcore.findings.codes`."""

    def __init__(self, message: str, span: Span, code: str = "STEP404") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.code = code


class Changed(FnRuntimeError):
    """A body changed its arguments, which were put back as far as they were small."""


class NoRule(Exception):
    """Something has no batched form: the body runs position by position instead."""


class EvaluationRefused(Exception):
    """A limit or a rule of the language is broken at the expression that is being evaluated."""

    def __init__(self, message: str, code: str = "STEP404") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class EvaluationLimits(Record):
    """Bounds of one evaluation.

    ``steps``: expressions evaluated in one call of a body. ``numel``: numbers in one tensor. ``sequence``: items
    of one list or range. ``bits``: size of one Python integer. ``depth``: calls of helper functions in each other.
    """

    steps: int = 1_000_000
    numel: int = MAX_NUMBERS
    sequence: int = MAX_ITEMS
    bits: int = MAX_BITS
    depth: int = 40


class Restart(Exception):
    """Trace again: the result of operation ``ordinal`` changes in place and needs the whole batch shape."""

    def __init__(self, ordinal: int) -> None:
        super().__init__(ordinal)
        self.ordinal = ordinal
