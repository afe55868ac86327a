"""What a command needs while a proposer works: executor and sampler, experience, a way to be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType

import typer

from stepagents.cli.options import ExecutorName, Proposer
from stepagents.executor import Executor, Place, open_executor
from stepagents.sampling import Sampler
from stepcore.cli.terminal import complain


@dataclass(frozen=True, slots=True)
class Choice:
    """Which proposer works, and where; the fields are the options of the same names."""

    proposer: Proposer = Proposer.SEARCH
    model: str | None = None
    base_url: str | None = None
    repair: int = 0
    executor: ExecutorName = ExecutorName.LOCAL
    ray_address: str | None = None
    workers: int | None = None

    def check(self) -> None:
        """Refuse options that have no effect together.

        Raises:
            typer.BadParameter: naming the option.
        """
        if self.proposer is Proposer.SEARCH:
            for name, value in (("--model", self.model), ("--base-url", self.base_url), ("--repair", self.repair)):
                if value:
                    raise typer.BadParameter("this is for models: add --proposer llm", param_hint=name)
        if self.ray_address is not None and self.executor is not ExecutorName.RAY:
            raise typer.BadParameter("add --executor ray", param_hint="--ray-address")


@contextmanager
def open_sampler(choice: Choice) -> Iterator[Sampler]:
    """Start the executor and the sampler of ``choice``; leaving it ends both.

    Raises:
        typer.BadParameter: the options do not fit together, or what they name cannot be used.
    """
    choice.check()
    with ExitStack() as stack:
        executor = stack.enter_context(_open_executor(choice))
        if choice.proposer is Proposer.SEARCH:
            from stepagents.runs import SearchSampler

            yield SearchSampler(executor)
        else:
            raise typer.BadParameter("no model is connected yet; use --proposer search", param_hint="--proposer")


def _open_executor(choice: Choice) -> Executor:
    if choice.executor is ExecutorName.LOCAL:
        return open_executor(Place(workers=choice.workers))
    from stepagents.executor_ray import RayUnusable

    try:
        return open_executor(Place(True, choice.ray_address, choice.workers))
    except RayUnusable as error:
        raise typer.BadParameter(str(error), param_hint="--executor ray") from error


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
