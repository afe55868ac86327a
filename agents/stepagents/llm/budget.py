"""A hard budget: what a request may cost at most is reserved before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from stepagents.llm.faults import Fault
from stepagents.llm.providers import EndpointError, Price
from stepagents.llm.transport import FaultError, Message
from stepcore.records import Record

_OVERHEAD: Final = 16  # tokens of a message beyond its text, and of the whole; generous
_MARGIN: Final = 1.25  # of a ratio that was observed on other prompts
_SCHEMA: Final = 400  # tokens that a JSON schema and a role may add


class SpendingBudget(Record):
    """What a run may use at most; None: no limit. ``tokens`` are input and output together."""

    tokens: int | None = None
    dollars: float | None = None
    requests: int | None = None


class Spent(Record):
    """What a run used so far: what was billed, and what may have been where nobody said."""

    tokens: int = 0
    dollars: float = 0.0
    requests: int = 0


class Account(Protocol):
    """Where spending is written down before it happens, so that a killed process cannot spend unseen."""

    def spent(self) -> Spent:
        """Return what the run used, open reservations included."""

    def reserve(self, tokens: int, dollars: float) -> int:
        """Write a reservation down and return its number."""

    def settle(self, number: int, tokens: int, dollars: float) -> None:
        """Replace a reservation by what was used."""


class MemoryAccount:
    """An account that ends with its process."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, float]] = []

    def spent(self) -> Spent:
        """Return the sums."""
        return Spent(sum(t for t, _ in self._entries), sum(d for _, d in self._entries), len(self._entries))

    def reserve(self, tokens: int, dollars: float) -> int:
        """Add an entry."""
        self._entries.append((tokens, dollars))
        return len(self._entries) - 1

    def settle(self, number: int, tokens: int, dollars: float) -> None:
        """Replace an entry."""
        self._entries[number] = (tokens, dollars)


@dataclass(slots=True)
class Reservation:
    """What one request may use. It stays spent unless :meth:`Purse.settle` replaces it."""

    number: int
    tokens: int
    open: bool = True


class Purse:
    """Spends one budget on one model. For one event loop.

    Raises:
        EndpointError: a budget in dollars for a model whose price is unknown.
    """

    def __init__(self, budget: SpendingBudget, price: Price | None, account: Account | None = None) -> None:
        if budget.dollars is not None and price is None:
            raise EndpointError(
                "the price of this model is not known, so a budget in dollars cannot be kept; give its price, or a "
                "budget in tokens or requests"
            )
        self._budget = budget
        self._price = price
        self._account = account or MemoryAccount()
        self._pending = 0
        self._changed = asyncio.Condition()
        # No tokenizer gives more tokens than bytes. Once the endpoint has counted, its own ratio is used.
        self._ratio = 1.0
        self._observed = 0.0

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        return self._account.spent()

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return dollars, or None where no price is known."""
        return None if self._price is None else self._price.cost(input_tokens, output_tokens)

    async def reserve(self, messages: Sequence[Message], output_tokens: int) -> Reservation:
        """Reserve the most that a request can use; waits for open requests where their rest may be enough.

        Raises:
            FaultError: ``BUDGET``, when it does not fit.
        """
        async with self._changed:
            while True:
                tokens_in = self._bound(messages)
                dollars = self.cost(tokens_in, output_tokens) or 0.0
                missing = self._missing(tokens_in + output_tokens, dollars)
                if not missing:
                    break
                if not self._pending:
                    raise FaultError(Fault.BUDGET, missing)
                await self._changed.wait()
            self._pending += 1
            tokens = tokens_in + output_tokens
            return Reservation(self._account.reserve(tokens, dollars), tokens)

    def _bound(self, messages: Sequence[Message]) -> int:
        size = sum(len(message.text.encode("utf-8", "surrogatepass")) for message in messages)
        return int(size * self._ratio) + 1 + _OVERHEAD * (len(messages) + 1) + _SCHEMA

    def _missing(self, tokens: int, dollars: float) -> str:
        """Say what is exhausted, nothing where the request fits."""
        budget, spent = self._budget, self._account.spent()
        if budget.requests is not None and spent.requests + 1 > budget.requests:
            return f"the budget of {budget.requests:,} requests is spent"
        if budget.tokens is not None and spent.tokens + tokens > budget.tokens:
            return (
                f"of the budget of {budget.tokens:,} tokens {max(budget.tokens - spent.tokens, 0):,} are left, and "
                f"a request may take {tokens:,}"
            )
        if budget.dollars is not None and spent.dollars + dollars > budget.dollars:
            return (
                f"of the budget of ${budget.dollars:.2f} ${max(budget.dollars - spent.dollars, 0.0):.4f} is left, and "
                f"a request may cost ${dollars:.4f}"
            )
        return ""

    async def settle(
        self, reservation: Reservation, used: tuple[int, int] | None, messages: Sequence[Message] = ()
    ) -> None:
        """Close a reservation. ``used`` are input and output tokens; None leaves all that was reserved spent."""
        if not reservation.open:
            return
        reservation.open = False
        if used is not None:
            self._account.settle(reservation.number, sum(used), self.cost(*used) or 0.0)
            self._learn(used[0], messages)
        async with self._changed:
            self._pending -= 1
            self._changed.notify_all()

    def _learn(self, input_tokens: int, messages: Sequence[Message]) -> None:
        size = sum(len(message.text.encode("utf-8", "surrogatepass")) for message in messages)
        if input_tokens > 0 and size > 0:
            self._observed = max(self._observed, input_tokens / size)
            self._ratio = min(self._observed * _MARGIN, 1.0)
