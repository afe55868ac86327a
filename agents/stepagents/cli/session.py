"""What a command needs while a proposer works: executor and sampler, experience, interruption."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import typer

from stepagents.cli.options import ExecutorName, Learned, Proposer
from stepagents.executor import Place, open_executor
from stepagents.sampling import Experience, Order, Sampled, Sampler
from stepcore.cli.terminal import complain
from stepcore.jobs import Limits

if TYPE_CHECKING:
    from stepagents.experience.store import Store


@dataclass(frozen=True, slots=True)
class Choice:
    """Which proposer works, and where; fields are the options of the same names."""

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
                    raise typer.BadParameter("only a model has it; add --proposer llm", param_hint=name)
        if self.ray_address is not None and self.executor is not ExecutorName.RAY:
            raise typer.BadParameter("add --executor ray", param_hint="--ray-address")


@contextmanager
def open_sampler(choice: Choice) -> Iterator[Sampler]:
    """Start the executor and the sampler of ``choice``.

    Raises:
        typer.BadParameter: the options do not fit together, or what they name cannot be used.
    """
    choice.check()
    with ExitStack() as stack:
        executor = stack.enter_context(_executor(choice))
        if choice.proposer is Proposer.SEARCH:
            from stepagents.runs import SearchSampler

            yield SearchSampler(executor)
        else:
            yield stack.enter_context(_model(choice, executor))


def _executor(choice: Choice):  # type: ignore[no-untyped-def]
    raise NotImplementedError


def _model(choice: Choice, executor: object):  # type: ignore[no-untyped-def]
    raise NotImplementedError
