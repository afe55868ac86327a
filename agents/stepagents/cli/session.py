"""What a command needs while a proposer works: executor and sampler, experience, a way to be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import typer

from stepagents.cli.options import ExecutorName, Guardian, Proposer
from stepagents.executor import Executor, Place, open_executor
from stepagents.sampling import Sampler
from stepcore.cli.terminal import EXIT_INTERRUPTED, complain
from stepcore.config import ConfigError, Configs

if TYPE_CHECKING:
    from stepagents.llm.connect import Connection


@dataclass(frozen=True, slots=True)
class Choice:
    """Which proposer works, and where; the fields are the options of the same names.

    ``early_stop``: a model is asked no further for a task that is solved (not for pass@k). ``configured`` is what the
    configuration of the tasks says about sending them.
    """

    proposer: Proposer = Proposer.SEARCH
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

    def for_files(self, paths: Iterable[str]) -> Choice:
        """Return the choice under the configuration of these files, which may forbid to send them anywhere.

        Raises:
            typer.BadParameter: a configuration file cannot be used.
        """
        configs = Configs()
        try:
            found = {configs.for_file(Path(path)).send_to_provider for path in paths}
        except ConfigError as error:
            raise typer.BadParameter(str(error)) from error
        return replace(self, configured=False) if False in found else self

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
            "--guardian": None if self.guardian is Guardian.DETERMINISTIC else self.guardian,
        }
        for name, value in for_models.items():
            if value is not None and self.proposer is Proposer.SEARCH:
                raise typer.BadParameter("this is for models: add --proposer llm", param_hint=name)
        if self.ray_address is not None and self.executor is not ExecutorName.RAY:
            raise typer.BadParameter("add --executor ray", param_hint="--ray-address")


@contextmanager
def open_sampler(choice: Choice, parts: object = None, stop: Event | None = None) -> Iterator[Sampler]:
    """Start the executor and the sampler of ``choice``; leaving it ends both. See :func:`open_proposer`."""
    with open_jobs(choice) as executor, open_proposer(choice, executor, parts, stop) as sampler:
        yield sampler


def open_jobs(choice: Choice) -> Executor:
    """Start the executor of ``choice``.

    Raises:
        typer.BadParameter: the options do not fit together, or Ray cannot be used.
    """
    choice.check()
    if choice.executor is ExecutorName.LOCAL:
        return open_executor(Place(workers=choice.workers))
    from stepagents.executor_ray import RayUnusable

    try:
        return open_executor(Place(True, choice.ray_address, choice.workers))
    except RayUnusable as error:
        raise typer.BadParameter(str(error), param_hint="--executor ray") from error


@contextmanager
def open_proposer(
    choice: Choice, executor: Executor, parts: object = None, stop: Event | None = None
) -> Iterator[Sampler]:
    """Start the sampler of ``choice`` on ``executor``.

    Args:
        choice: which one.
        executor: stays open.
        parts: plain data that says what is sampled. Where a model was stopped at the same parts, its answers so far are
            taken from the ledger and not paid for again.
        stop: where it is set in the end, the run of the ledger is left open, to be gone on with.

    Raises:
        typer.BadParameter: what the options name cannot be used.
    """
    if choice.proposer is Proposer.SEARCH:
        from stepagents.runs import SearchSampler

        yield SearchSampler(executor)
        return
    with ExitStack() as stack:
        connection = _connect(stack, choice, executor, parts)
        try:
            yield connection.sampler
        except typer.Exit as end:
            if end.exit_code != EXIT_INTERRUPTED:
                connection.finish()
            raise
        if stop is None or not stop.is_set():
            connection.finish()


def _connect(stack: ExitStack, choice: Choice, executor: Executor, parts: object) -> Connection:
    """Find the endpoint, make sure that it may be sent to, and open everything."""
    from stepagents.llm.budget import Budget
    from stepagents.llm.connect import connect
    from stepagents.llm.consent import ConsentError, require_consent
    from stepagents.llm.ledger import LedgerError
    from stepagents.llm.options import Guardian as ModelGuardian
    from stepagents.llm.options import SamplingOptions
    from stepagents.llm.providers import EndpointError, resolve

    options = SamplingOptions(
        repair=choice.repair, guardian=ModelGuardian(choice.guardian.value), early_stop=choice.early_stop
    )
    whole = {"parts": parts, "options": repr(options)}
    try:
        endpoint = resolve(choice.model or "", base_url=choice.base_url or "", key_variable=choice.key_variable or "")
        require_consent(endpoint.base_url, option=choice.send_to_provider, configured=choice.configured)
        budget = Budget(choice.budget_tokens, choice.budget_cost)
        return stack.enter_context(connect(endpoint, executor, whole, options=options, budget=budget))
    except (EndpointError, ConsentError, LedgerError) as error:
        raise typer.BadParameter(str(error), param_hint="--proposer llm") from error


@contextmanager
def interruptible() -> Iterator[Event]:
    """Give an event that the first Ctrl-C (or SIGTERM) sets, so that what was earned is kept; the second one raises.

    Outside the main thread nothing is caught.
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
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
