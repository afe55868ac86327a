"""What a command needs while a proposer works: executor and sampler, experience, a way to be interrupted."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Final

import typer

from stepagents.cli.asking import asker, show
from stepagents.cli.options import ExecutorName
from stepagents.executors.executor import Executor
from stepagents.executors.opening import ExecutorChoice, open_executor
from stepagents.llm.options import Guardian
from stepagents.sampling import Order, Sampler
from stepcore.cli.terminal import EXIT_INTERRUPTED, complain, output_is_closed, write_program
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import SEARCH, ProposerEntry
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.settings.config import ConfigError, Configs
from stepcore.settings.limits import Wishes, answers_in_force, read_price, user_wishes
from stepcore.system.scarce import reason_of
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepagents.llm.connect import Connection
    from stepagents.llm.providers import Endpoint
    from stepagents.llm.transcript import Heard
    from stepagents.llm.transport import Message


_LOOK_SECONDS: Final = 0.25  # between two looks at whether somebody reads the output


class ProposerChoice(Record):
    """Which proposer works, and where; the fields are the options of the same names.

    ``early_stop``: a model is asked no further for a task that is solved (not for pass@k). ``configured`` is what the
    configuration of the tasks says about sending them, ``agreed`` that its user let them be sent, see :func:`agree`.
    """

    proposer: ProposerEntry = SEARCH
    model: str | None = None
    base_url: str | None = None
    repair: int = 0
    executor: ExecutorName = ExecutorName.LOCAL
    ray_address: str | None = None
    workers: int | None = None
    guardian: Guardian = Guardian.DETERMINISTIC
    key_variable: str | None = None
    send_to_provider: bool | None = None
    budget_tokens: int | None = None
    budget_cost: float | None = None
    early_stop: bool = True
    configured: bool | None = None
    price: str | None = None
    answers_without_program: int | None = None
    answers: Path | None = None
    agreed: bool = False

    def for_files(self, paths: Iterable[str]) -> ProposerChoice:
        """Return the choice under the configuration of these files, and of the user.

        A project may forbid to send them anywhere, and have a model stopped earlier. Of several files the strictest
        counts.

        Raises:
            typer.BadParameter: a configuration file cannot be used.
        """
        configs = Configs()
        try:
            found = [configs.for_file(Path(path)) for path in paths]
            user, call = user_wishes(), Wishes(answers_without_program=self.answers_without_program)
        except ConfigError as error:
            raise typer.BadParameter(str(error)) from error
        limits = [answers_in_force(config, call, user) for config in found]
        if not self.proposer.asks:
            return self
        for note in dict.fromkeys(note for _, note in limits if note):
            complain(clean(note))
        forbidden = any(config.send_to_provider is False for config in found)
        return replace(
            self,
            configured=False if forbidden else self.configured,
            answers_without_program=min((limit for limit, _ in limits), default=self.answers_without_program),
        )

    def check(self) -> None:
        """Refuse options that have no effect together.

        Raises:
            typer.BadParameter: naming the option.
        """
        for_models = {
            "--model": self.model,
            "--base-url": self.base_url,
            "--repair": self.repair or None,
            "--key-variable": self.key_variable,
            "--send-to-provider": self.send_to_provider,
            "--budget-tokens": self.budget_tokens,
            "--budget-cost": self.budget_cost,
            "--price": self.price,
            "--answers-without-program": self.answers_without_program,
            "--answers": self.answers,
            "--guardian": None if self.guardian is Guardian.DETERMINISTIC else self.guardian,
        }
        for name, value in for_models.items():
            if value is not None and not self.proposer.asks:
                raise typer.BadParameter(f"{name} is for models: add --proposer llm", param_hint=name)
        _price(self.price)


class First(Record):
    """What a model would be asked first: an order, with what it is to learn from."""

    order: Order
    known: Sequence[Experience] = ()


@contextmanager
def open_sampler(
    choice: ProposerChoice,
    parts: object = None,
    stop: Event | None = None,
    first: First | None = None,
    heard: Heard | None = None,
) -> Iterator[Sampler]:
    """Start the executor and the sampler of ``choice``; leaving it ends both. See :func:`open_proposer`."""
    with open_jobs(choice) as executor, open_proposer(choice, executor, parts, stop, first, heard) as sampler:
        yield sampler


def open_jobs(choice: ProposerChoice) -> Executor:
    """Start the executor of ``choice``.

    Raises:
        typer.BadParameter: the options do not fit together, or Ray cannot be used.
    """
    choice.check()
    return open_workers(choice.executor, ExecutorChoice(ray_address=choice.ray_address, workers=choice.workers))


def open_workers(executor: ExecutorName, choice: ExecutorChoice) -> Executor:
    """Start the executor of this name.

    Raises:
        typer.BadParameter: there is an address of a cluster without Ray, or Ray cannot be used.
    """
    if executor is ExecutorName.LOCAL:
        if choice.ray_address is not None:
            raise typer.BadParameter("add --executor ray", param_hint="--ray-address")
        return open_executor(choice)
    from stepagents.executors.ray.executor import RayUnusable

    try:
        return open_executor(replace(choice, ray=True))
    except RayUnusable as error:
        raise typer.BadParameter(str(error), param_hint="--executor ray") from error


@contextmanager
def open_proposer(
    choice: ProposerChoice,
    executor: Executor,
    parts: object = None,
    stop: Event | None = None,
    first: First | None = None,
    heard: Heard | None = None,
) -> Iterator[Sampler]:
    """Start the sampler of ``choice`` on ``executor``.

    Args:
        choice: which one.
        executor: stays open.
        parts: plain data that says what is sampled. Where a model was stopped at the same parts, its answers so far are
            taken from the ledger and not paid for again.
        first: what is asked first, to be shown before the user agrees.
        stop: where it is set in the end, the run of the ledger is left open, to be gone on with.
        heard: gets every answer of a model with its verdict.

    Raises:
        typer.BadParameter: what the options name cannot be used.
    """
    if not choice.proposer.asks:
        from stepagents.runs import WorkerSampler

        yield WorkerSampler(executor, choice.proposer, complain)
        return
    with ExitStack() as stack:
        connection = _connect(stack, choice, executor, parts, first, heard)
        try:
            yield connection.sampler
        except typer.Exit as end:
            if end.exit_code != EXIT_INTERRUPTED:
                connection.finish()
            raise
        if stop is None or not stop.is_set():
            connection.finish()


def show_requests(choice: ProposerChoice, orders: Sequence[Order], known: Sequence[Experience]) -> None:
    """Print the first request of each order, which goes nowhere.

    Raises:
        typer.BadParameter: what the options name cannot be used.
    """
    if not choice.proposer.asks:
        raise typer.BadParameter("--show-request is for models: add --proposer llm", param_hint="--show-request")
    endpoint = endpoint_of(choice)
    for order in orders:
        write_program(request_text(endpoint, First(order, known)))


def request_text(endpoint: Endpoint, first: First) -> str:
    """Return the texts of the first request for an order, word for word, and where they go."""
    from stepagents.llm.prompts import proposer_messages
    from stepagents.task_text import task_text
    from stepcore.frontend.yaml.tasks import read_task

    text = task_text(read_task(first.order.text, first.order.path))
    messages = proposer_messages(
        text,
        first.known,
        structured=endpoint.dialect.structured,
        context=endpoint.context,
        output_tokens=endpoint.output_tokens,
    )
    return messages_text(endpoint, messages)


def messages_text(endpoint: Endpoint, messages: Sequence[Message]) -> str:
    """Return a request word for word, and where it goes."""
    turns = "".join(f"\n===== {message.role} =====\n{message.text}\n" for message in messages)
    return f"To: {endpoint.model} at {endpoint.base_url}\n{turns}"


def agree(choice: ProposerChoice, first: First | None = None) -> ProposerChoice:
    """Return the choice once its user lets tasks be sent to its model; the search, and what agreed, are not asked.

    Raises:
        typer.BadParameter: the user does not, or the model cannot be used.
    """
    if not choice.proposer.asks or choice.agreed:
        return choice
    _ask_consent(choice, endpoint_of(choice), first)
    return replace(choice, agreed=True)


def _ask_consent(choice: ProposerChoice, endpoint: Endpoint, first: First | None) -> None:
    from stepagents.llm.consent import ConsentError, require_consent

    try:
        require_consent(
            endpoint.base_url,
            endpoint.model,
            option=choice.send_to_provider,
            configured=choice.configured,
            ask=asker(),
            preview=None if first is None else lambda: show(request_text(endpoint, first)),
        )
    except ConsentError as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error


def _connect(
    stack: ExitStack,
    choice: ProposerChoice,
    executor: Executor,
    parts: object,
    first: First | None = None,
    heard: Heard | None = None,
) -> Connection:
    """Find the endpoint, make sure that it may be sent to, and open everything."""
    from stepagents.llm.budget import SpendingBudget
    from stepagents.llm.connect import connect
    from stepagents.llm.ledger import LedgerError
    from stepagents.llm.options import SamplingOptions
    from stepagents.llm.providers import EndpointError

    standard = SamplingOptions()
    options = SamplingOptions(
        repair=choice.repair,
        guardian=choice.guardian,
        early_stop=choice.early_stop,
        answers_without_program=choice.answers_without_program or standard.answers_without_program,
    )
    whole = {"parts": parts, "options": repr(options)}
    endpoint = endpoint_of(choice)
    if not choice.agreed:
        _ask_consent(choice, endpoint, first)
    budget = SpendingBudget(choice.budget_tokens, choice.budget_cost)
    try:
        return stack.enter_context(connect(endpoint, executor, whole, options=options, budget=budget, heard=heard))
    except (EndpointError, LedgerError) as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error


def endpoint_of(choice: ProposerChoice) -> Endpoint:
    """Return the endpoint of a model, at the price of the option, else of the user's configuration, else of a preset.

    Raises:
        typer.BadParameter: what the options name cannot be used.
    """
    from stepagents.llm.providers import EndpointError, Price, resolve

    try:
        found = resolve(choice.model or "", base_url=choice.base_url or "", key_variable=choice.key_variable or "")
        prices = user_wishes().model_prices
    except (EndpointError, ConfigError) as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error
    names = (name for name in (found.name, found.model, choice.model or "") if name in prices)
    name = next(names, None)
    own = _price(choice.price) or (None if name is None else prices[name])
    return found if own is None else replace(found, price=Price(*own, as_of="as you say"))


def _price(text: str | None) -> tuple[float, float] | None:
    """Read the option ``--price``.

    Raises:
        typer.BadParameter: it is none.
    """
    if text is None:
        return None
    try:
        return read_price([float(part) for part in text.split(",")])
    except ValueError as error:
        what = "give US dollars for a million tokens of prompts and of answers, such as --price 2.5,10"
        raise typer.BadParameter(what, param_hint="--price") from error


def make_folder(folder: Path | None, option: str) -> None:
    """Make the folder that ``option`` names, if it names one.

    Raises:
        typer.BadParameter: it cannot be made.
    """
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{one_line(folder)} cannot be made: {reason_of(error)}", param_hint=option) from error


@contextmanager
def interruptible() -> Iterator[Event]:
    """Give an event that the first Ctrl-C (or SIGTERM) sets, so that what was earned is kept; the second one raises.

    It is set, too, when nobody reads standard output any more. Outside the main thread nothing is caught.

    Raises:
        BrokenPipeError: in the end, where nobody reads standard output.
    """
    stop = Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        complain("stopping; what was found is kept (interrupt again to end at once)")

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    ended = Event()
    threading.Thread(target=_watch_output, args=(stop, ended), name="stepsmith-output", daemon=True).start()
    try:
        yield stop
        if stop.is_set() and output_is_closed():
            raise BrokenPipeError(errno.EPIPE, "nobody reads the output")
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch_output(stop: Event, ended: Event) -> None:
    """Set ``stop`` once nobody reads what is printed, until it has ``ended``."""
    while not ended.wait(_LOOK_SECONDS) and not stop.is_set():
        if output_is_closed():
            stop.set()
