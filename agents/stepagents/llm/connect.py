"""What a command needs to sample a model: endpoint, consent, ledger, budget and sampler, put together once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stepagents.llm.answering import Answering
from stepagents.llm.budget import Purse, SpendingBudget, Spent
from stepagents.llm.client import OpenAITransport, Patience
from stepagents.llm.ledger import Ledger
from stepagents.llm.options import SamplingOptions
from stepagents.llm.providers import Endpoint
from stepagents.llm.sampler import LlmSampler
from stepagents.llm.transcript import Heard
from stepcore.records import Record

if TYPE_CHECKING:
    from stepagents.executors.executor import Executor


class Connection(Record):
    """A sampler and the run of the ledger that it works for."""

    sampler: LlmSampler
    run: str
    ledger: Ledger
    transport: OpenAITransport

    @property
    def spent(self) -> Spent:
        """What the run used so far, in earlier processes too. Where no price is known ``dollars`` is 0."""
        return self.ledger.spent(self.run)

    def finish(self) -> None:
        """Say that the run is complete; without this the next run of the same parts continues it."""
        self.ledger.finish_run(self.run)


class OpenRun(Record):
    """What asks one model for one run of the ledger."""

    answering: Answering
    run: str
    ledger: Ledger
    transport: OpenAITransport

    def finish(self) -> None:
        """Say that the run is complete; without this the next run of the same parts continues it."""
        self.ledger.finish_run(self.run)


@contextmanager
def open_run(
    endpoint: Endpoint,
    parts: object,
    *,
    budget: SpendingBudget | None = None,
    patience: Patience | None = None,
    ledger: Path | None = None,
) -> Iterator[OpenRun]:
    """Open ledger, budget and endpoint for one run, see :func:`connect`. The transport is closed by who uses it.

    Raises:
        LedgerError: the ledger cannot be used.
        EndpointError: a budget in dollars for a model whose price is not known.
    """
    with Ledger(ledger) as opened:
        run = opened.open_run([endpoint.name, endpoint.base_url, parts])
        purse = Purse(budget or SpendingBudget(), endpoint.price, opened.account(run))
        transport = OpenAITransport(endpoint, purse=purse, patience=patience)
        yield OpenRun(Answering(transport, opened, run), run, opened, transport)


@contextmanager
def connect(
    endpoint: Endpoint,
    executor: Executor,
    parts: object,
    *,
    options: SamplingOptions | None = None,
    budget: SpendingBudget | None = None,
    patience: Patience | None = None,
    ledger: Path | None = None,
    heard: Heard | None = None,
) -> Iterator[Connection]:
    """Open everything for one run. Consent is not asked here, see :func:`stepagents.llm.consent.require_consent`.

    Args:
        endpoint: of :func:`stepagents.llm.providers.resolve`.
        executor: judges the answers; stays open.
        parts: plain data that identifies the run, such as the texts of its tasks and its options. A run that was
            killed continues when the same parts come again.
        options: how to sample.
        budget: the most that the run may use, all its processes together.
        patience: how long the endpoint is waited for.
        ledger: the file of paid answers, by default the user's own.
        heard: gets every answer with its verdict, see :class:`stepagents.llm.sampler.LlmSampler`.

    Raises:
        LedgerError: the ledger cannot be used.
        EndpointError: a budget in dollars for a model whose price is not known.
    """
    with (
        open_run(endpoint, parts, budget=budget, patience=patience, ledger=ledger) as own,
        LlmSampler(own.transport, executor, options, ledger=own.ledger, run=own.run, heard=heard) as sampler,
    ):
        yield Connection(sampler, own.run, own.ledger, own.transport)
