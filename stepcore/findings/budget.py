"""How much work one document may cause: a budget of steps that everything draws from which looks at a text.

Work is counted, not timed, so the same text ends in the same place on every machine: evaluations of elaboration,
items that are copied, products of sizes, operators that are typed, statements and expressions of bodies, comparisons of
names. A budget grows with the text, so that honest files of any length stay below it. Code that runs without one (the
simulator, a script) is not limited here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.text.span import Span

CODE: Final = "STEP912"
# A published task takes 500 steps, and honest code less than one for each character.
STEPS: Final = 600_000
STEPS_PER_CHARACTER: Final = 16
# Names that are compared with misspelt ones, of about the right length; each comparison takes as long as several steps.
LOOKS: Final = 40_000


class OutOfBudget(Exception):
    """The budget of the document is spent. ``span`` is where that happened, once somebody has said so."""

    def __init__(self, span: Span | None = None) -> None:
        super().__init__("the budget of this document is spent")
        self.span = span

    def at(self, span: Span) -> OutOfBudget:
        """Note where it happened, unless that was said more precisely before."""
        self.span = self.span or span
        return self


@dataclass(slots=True)
class Budget:
    """Steps and looks that are left; ``is_spent`` once a step was asked for that was not there."""

    left: int
    looks: int = LOOKS
    is_spent: bool = False
    is_reported: bool = False

    @staticmethod
    def for_text(characters: int) -> Budget:
        """The budget of a document of this length."""
        return Budget(STEPS + STEPS_PER_CHARACTER * characters)

    def spend(self, steps: int) -> None:
        """Take ``steps``.

        Raises:
            OutOfBudget: they are not there.
        """
        self.left -= steps
        if self.left < 0:
            self.is_spent = True
            raise OutOfBudget

    def report(self, error: OutOfBudget, otherwise: Span) -> list[Diagnostic]:
        """Return the finding that tells where the budget ended: one for a document, whoever asks first."""
        if self.is_reported:
            return []
        self.is_reported = True
        span = error.span or otherwise
        text = "checking this file takes more work than a file of its length may cause, and ends here"
        return [Diagnostic(CODE, span, f"{text}; loop over fewer items, or split the file")]


_CURRENT: ContextVar[Budget | None] = ContextVar("stepsmith_budget", default=None)


def current() -> Budget | None:
    """Return the budget of the document that is looked at; None where nothing is limited."""
    return _CURRENT.get()


def spend(steps: int) -> None:
    """Take ``steps`` from the document's budget, if there is one; raises :class:`OutOfBudget`."""
    budget = _CURRENT.get()
    if budget is not None:  # as `Budget.spend` does, without a further call for each expression
        budget.left -= steps
        if budget.left < 0:
            budget.spend(0)


class using:
    """Let everything inside draw from ``budget``. A class, because a generator would take 1 us longer."""

    __slots__ = ("_budget", "_token")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __enter__(self) -> Budget:
        self._token = _CURRENT.set(self._budget)
        return self._budget

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


def limited(characters: int) -> using:
    """Look at a text of this length under the budget that is there already, or else under one of its own."""
    return using(_CURRENT.get() or Budget.for_text(characters))


@contextmanager
def sparing(steps: int) -> Iterator[Budget | None]:
    """Look at more than was asked for: what is done inside leaves the document ``steps``, and may end before.

    Findings about that end belong to nobody. None where nothing is limited.
    """
    whole = _CURRENT.get()
    if whole is None:
        yield None
        return
    part = Budget(max(whole.left - steps, 0), whole.looks, is_reported=True)
    before = part.left
    with using(part):
        yield part
    whole.left -= before - max(part.left, 0)
    whole.looks = part.looks
