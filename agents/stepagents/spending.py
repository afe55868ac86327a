"""What a model was asked for and what it cost, in words. A cost that nobody knows is never made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.sampling import Sampled
from stepcore.text.wording import counted

_CENT: Final = 0.01


def dollars(amount: float) -> str:
    """Return an amount of US dollars, with four digits behind the point where it is less than a cent."""
    return f"${amount:,.2f}" if amount >= _CENT or not amount else f"${amount:.4f}"


def spending(tokens: int, cost: float | None, *, is_counted: bool = True) -> str:
    """Return tokens and their ``cost`` (US dollars; None where no price is known); estimates are called so."""
    about = "" if is_counted else "about "
    return f"{about}{counted(tokens, 'token')}, {'cost not known' if cost is None else dollars(cost)}"


def spent_on(results: Sequence[Sampled]) -> str:
    """Return what all these results took together."""
    tokens = sum(sampled.input_tokens + sampled.output_tokens for sampled in results)
    known = all(sampled.cost_known for sampled in results)
    cost = sum(sampled.cost for sampled in results) if known else None
    return spending(tokens, cost, is_counted=all(sampled.tokens_counted for sampled in results))


def standing(results: Sequence[Sampled]) -> str:
    """Return how far the sampling of a model is: answers, right ones, and what they took."""
    answers, right = sum(sampled.answers for sampled in results), sum(sampled.accepted for sampled in results)
    task = f"{results[0].task}: " if len(results) == 1 else ""
    return f"{task}{counted(answers, 'answer')}, {right} right, {spent_on(results)}"
