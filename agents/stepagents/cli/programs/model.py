"""The model of ``stepsmith optimize``: its endpoint, its user's consent, its budget, and what it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path

import typer

from stepagents.cli.answer_files import AnswerFiles
from stepagents.cli.asking import asker as user_asker
from stepagents.cli.programs.orders import ProgramOrder
from stepagents.cli.session import ProposerChoice, endpoint_of, messages_text
from stepagents.experience.optimizations import OptimizationItem
from stepagents.llm.transcript import Answered, became
from stepagents.optimize.candidates import timed_subject
from stepagents.optimize.model.asker import Heard, ModelAsker
from stepagents.optimize.outcome import Optimized
from stepagents.sampling import Sampled
from stepcore.cli.terminal import complain, write_program
from stepcore.jobs import proposers
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.text.wording import counted, one_line


class Proposer(Enum):
    """Who proposes changes."""

    SEARCH = proposers.SEARCH.typed
    LLM = proposers.MODEL.typed
    AUTO = proposers.AUTO


class ModelWish(Record):
    """Who is to propose, and the options of a model. ``configured`` is what the configuration says about sending.

    ``shows_request``: nothing is sent, what would be asked first is shown.
    """

    proposer: Proposer
    choice: ProposerChoice
    configured: bool | None = None
    shows_request: bool = False

    def for_files(self, targets: Sequence[str]) -> ModelWish:
        """Return the wish under the configuration of these files: a project may forbid to send them anywhere.

        Raises:
            typer.BadParameter: a configuration file cannot be used.
        """
        if self.proposer is Proposer.SEARCH or not (self.choice.model or self.proposer is Proposer.LLM):
            return self
        paths = [target.partition("::")[0] for target in targets]
        return replace(self, configured=self.choice.for_files(paths).configured)

    def check(self) -> None:
        """Refuse options that have no effect.

        Raises:
            typer.BadParameter: naming the option.
        """
        choice = self.choice
        named = {
            "--model": choice.model, "--base-url": choice.base_url, "--key-variable": choice.key_variable,
            "--send-to-provider": choice.send_to_provider, "--budget-tokens": choice.budget_tokens,
            "--budget-cost": choice.budget_cost, "--price": choice.price, "--answers": choice.answers,
            "--show-request": self.shows_request or None,
        }  # fmt: skip
        for name, value in named.items():
            if value is not None and self.proposer is Proposer.SEARCH:
                raise typer.BadParameter(f"{name} is for models: add --proposer llm", param_hint=name)
            if value is not None and self.proposer is Proposer.AUTO and not choice.model:
                raise typer.BadParameter(f"{name} is for a model, and none is named: add --model M", param_hint=name)


class ProgramAnswers:
    """Hears of a model's answers: tells of those that came to nothing, and writes all of them into files, if wanted."""

    def __init__(self, folder: Path | None) -> None:
        self._files = AnswerFiles(folder)
        self._sampled = Sampled("")
        self._number = 0

    def about(self, order: ProgramOrder, model: str) -> None:
        """Say which program answers are about from here on."""
        self._sampled, self._number = Sampled(order.name, f"{order.path}::{order.name}", model), 0

    def hear(self, heard: Heard) -> None:
        """Take an answer; what becomes of a program in it is known at the end."""
        if heard.outcome.startswith("not admitted"):
            complain(clean(f"{heard.question.role}: {one_line(heard.outcome)[:300]}"))
        self._number += 1
        role, outcome = heard.question.role, heard.outcome
        self._files.hear(Answered(self._sampled, self._number, role, outcome, stored=heard.stored))

    def end(self, outcome: Optimized) -> None:
        """Say what became of the proposals for a program."""
        if outcome.proposals:
            self._files.add(self._sampled, became([(each.what, each.outcome) for each in outcome.proposals]))


def show_first_request(wish: ModelWish, order: ProgramOrder, items: Sequence[OptimizationItem]) -> bool:
    """Print what a model would be asked first about a program, which goes nowhere; return whether there is anything.

    Raises:
        typer.BadParameter: what the options name cannot be used.
    """
    from stepagents.optimize.features import bottleneck_of
    from stepagents.optimize.model.prompts import MOST_ITEMS, planner_messages
    from stepagents.optimize.model.search import PLANS
    from stepagents.optimize.prior import fitting
    from stepcore.rewrites import REWRITES

    endpoint = endpoint_of(wish.choice)
    subject = None if order.subject is None else timed_subject(order.subject, order.target)
    if subject is None or subject.timed is None or subject.timed.cycles is None:
        why = order.erroneous.problem if order.subject is None else "it stops or cannot be timed, so no model is asked"
        complain(clean(f"{one_line(order.path)}::{order.name}: {why}"))
        return False
    sites = [site for rewrite in REWRITES for site in order.target.sites(rewrite, subject)]
    fits = fitting(items, bottleneck_of(subject.timed, order.target), MOST_ITEMS)
    write_program(messages_text(endpoint, planner_messages(subject, order.target, sites, fits, (), PLANS)))
    return True


@contextmanager
def open_asker(
    wish: ModelWish, parts: object, is_stopped: Callable[[], bool], answers: ProgramAnswers
) -> Iterator[ModelAsker | None]:
    """Open what asks the model; None where the search works alone. Afterwards it is told what the answers took.

    ``parts`` are plain data that identify the call: where it was stopped at the same parts, its answers so far are
    taken from the ledger. ``answers`` hears of each of them.

    Raises:
        typer.BadParameter: the model was asked for by ``llm``, and cannot be used.
    """
    if wish.proposer is Proposer.SEARCH or (wish.proposer is Proposer.AUTO and not wish.choice.model):
        yield None
        return
    from stepagents.llm.budget import SpendingBudget
    from stepagents.llm.connect import open_run
    from stepagents.llm.ledger import LedgerError
    from stepagents.llm.providers import EndpointError

    try:
        endpoint = endpoint_of(wish.choice)
        _require_consent(wish, endpoint.base_url, endpoint.model)
    except typer.BadParameter as error:
        if wish.proposer is Proposer.LLM:
            raise
        complain(f"the search works without a model: {error.message}")
        yield None
        return
    budget = SpendingBudget(wish.choice.budget_tokens, wish.choice.budget_cost)
    try:
        with open_run(endpoint, parts, budget=budget) as run, ModelAsker(run.answering, "", answers.hear) as asker:
            asker.is_stopped = is_stopped
            yield asker
            _tell(asker)
            if not is_stopped():
                run.finish()
    except (EndpointError, LedgerError) as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error


def _require_consent(wish: ModelWish, base_url: str, model: str) -> None:
    from stepagents.llm.consent import ConsentError, require_consent

    try:
        require_consent(
            base_url,
            model,
            option=wish.choice.send_to_provider,
            configured=wish.configured,
            ask=user_asker() if wish.proposer is Proposer.LLM else None,
        )
    except ConsentError as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error


def _tell(asker: ModelAsker) -> None:
    complain(clean(f"{one_line(asker.name)}: {counted(asker.answers, 'answer')}, {asker.spent}"))
    if asker.problem:
        complain(clean(f"the model was asked no further: {one_line(asker.problem)}"))
