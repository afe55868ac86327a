"""The model of a job ``optimize``: the owner of the job asks it, as it does for programs that a model writes.

Answers are kept in the ledger of paid answers, so that an order which was killed pays for none of them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stepagents.llm.answering import Answering
from stepagents.llm.asking import AskingTransport
from stepagents.llm.budget import Purse, SpendingBudget
from stepagents.llm.ledger import Ledger, LedgerError
from stepagents.llm.providers import Price
from stepagents.optimize.candidates import key_of
from stepagents.optimize.model.asker import Heard, ModelAsker
from stepagents.optimize.run import ModelAdvice
from stepcore.jobdata.optimizing import OptimizeProgress, OptimizeRequest
from stepcore.jobs import Context, JobError
from stepcore.settings.limits import read_price
from stepcore.text.wording import clipped, counted, one_line

_EDITOR = "editor"


@dataclass
class ToldAdvice:
    """The model of an order, None where none is asked, and what is to be said of the order besides."""

    advice: ModelAdvice | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def spent(self) -> str:
        """The answers and what they took, in words; empty where no model was asked."""
        if self.advice is None:
            return ""
        asker = self.advice.asker
        return f"{one_line(asker.name)}: {counted(asker.answers, 'answer')}, {asker.spent}"

    @property
    def unasked(self) -> str:
        """Why the model was asked no further; empty where nothing was in the way."""
        return "" if self.advice is None else one_line(self.advice.asker.problem)


@contextmanager
def open_advice(request: OptimizeRequest, context: Context) -> Iterator[ToldAdvice]:
    """Open what asks the model of an order, where it asks one.

    Raises:
        JobError: STEP907, the price is none.
    """
    told = ToldAdvice()
    if request.proposer == "search" or (request.proposer == "auto" and not request.model):
        yield told
        return
    purse_price, name = _price(request), request.model or _EDITOR
    with ExitStack() as stack:
        ledger = _ledger(request, told.remarks, stack)
        parts = [name, _EDITOR, request.path, request.program, key_of(request.text), request.chip, request.goal]
        run = "" if ledger is None else ledger.open_run(parts)
        account = None if ledger is None else ledger.account(run)
        purse = Purse(SpendingBudget(tokens=request.budget_tokens), purse_price, account)
        transport = AskingTransport(context.ask, name, price=purse_price, purse=purse)

        def heard(found: Heard) -> None:
            what = f"{found.question.role}: {clipped(one_line(found.outcome), 200)}"
            context.progress(OptimizeProgress(what, spent=told.spent))
            if not found.text:
                told.remarks.append(f"the model, asked as {what}")

        asker = stack.enter_context(ModelAsker(Answering(transport, ledger, run), key_of(request.program), heard))
        asker.is_stopped, asker.asks_user = lambda: context.concluded or context.cancelled, True
        told.advice = ModelAdvice(asker, goes_on=request.proposer == "auto")
        yield told
        if ledger is not None and not asker.is_stopped():
            ledger.finish_run(run)


def _ledger(request: OptimizeRequest, remarks: list[str], stack: ExitStack) -> Ledger | None:
    try:
        return stack.enter_context(Ledger(Path(request.ledger)))
    except LedgerError as error:
        remarks.append(f"{error}; answers are not kept")
        return None


def _price(request: OptimizeRequest) -> Price | None:
    if request.price is None:
        return None
    try:
        found = read_price(request.price)
    except ValueError as error:
        raise JobError("STEP907", f"price: {error}") from error
    return Price(*found, as_of="as the user says")
