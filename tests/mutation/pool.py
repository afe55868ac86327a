"""Forks a process for each mutant, a few at a time, and says what became of each."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

import pytest

from stepcore.jobs.effort import Effort, usage_of_tree

from .config import Config
from .mutators import Mutant
from .session import SHARED, Observed, Selection, confine, run_tests

FORK = mp.get_context("fork")


class Outcome(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"
    UNREACHED = "unreached"

    @property
    def dead(self) -> bool:
        """Whether the tests noticed."""
        return self in (Outcome.KILLED, Outcome.TIMEOUT)


@dataclass(frozen=True)
class Verdict:
    """A mutant and its end; ``killer`` is the test that failed, empty when the code could not even be imported."""

    mutant: Mutant
    outcome: Outcome
    killer: str = ""


class BaselineError(Exception):
    """The tests do not pass on the code as it is."""


def _baseline(config: Config, files: list[str], pipe: Connection) -> None:
    observed = run_tests(config, None, None, trace=files)
    observed.reached = dict(observed.reached)
    pipe.send(observed)


def baseline(config: Config, files: list[str]) -> Observed:
    """Run all tests once on the unbroken code, watching which test enters which function.

    Raises BaselineError when one fails.
    """
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_baseline, args=(config, files, sender))
    process.start()
    sender.close()
    try:
        observed: Observed = receiver.recv()
    except EOFError:
        raise BaselineError("the process that ran the tests died") from None
    finally:
        process.join()
    if observed.exit_code != pytest.ExitCode.OK:
        raise BaselineError(f"pytest ended with {observed.exit_code} {observed.killer}")
    return observed


def _try_mutant(config: Config, mutant: Mutant, selection: Selection, seconds: float, pipe: Connection) -> None:
    confine(config.memory, seconds)
    observed = run_tests(config, mutant, selection)
    pipe.send((observed.exit_code, observed.killer))


@dataclass
class Running:
    """A mutant on trial."""

    mutant: Mutant
    process: ForkProcess
    pipe: Connection
    effort: Effort

    def verdict(self) -> Verdict | None:
        """The end of a trial, or None while it goes on."""
        if self.pipe.poll():
            with suppress(EOFError):
                code, killer = self.pipe.recv()
                self.stop()
                survived = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
                return Verdict(self.mutant, Outcome.SURVIVED if survived else Outcome.KILLED, killer)
            # It died without a word: a crash, too much memory, or too much processor time.
            self.process.join(timeout=5.0)
            stuck = self.process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
            self.stop()
            return Verdict(self.mutant, Outcome.TIMEOUT if stuck else Outcome.KILLED)
        if self.effort.over():
            self.stop()
            return Verdict(self.mutant, Outcome.TIMEOUT)
        return None

    def stop(self) -> None:
        """End the process and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            if self.process.pid is not None:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """Tries mutants against the tests that reach them, those that killed before first."""

    def __init__(self, config: Config, observed: Observed) -> None:
        self.config = config
        self.seconds = observed.seconds
        self.reached = observed.reached
        self.known = frozenset(observed.seconds)
        self.kills: dict[str, Counter[str]] = defaultdict(Counter)

    def selection(self, mutant: Mutant) -> Selection:
        """The tests that can notice a mutant."""
        tests: Iterable[str] = self.known
        if mutant.function is not None:
            reaching = self.reached.get((str(self.config.root / mutant.path), mutant.function), set())
            if SHARED not in reaching:
                tests = reaching
        kills = self.kills[mutant.path]
        order = sorted(tests, key=lambda test: (-kills[test], self.seconds.get(test, 0.0), test))
        return Selection(tuple(order), self.known)

    def start(self, mutant: Mutant, selection: Selection) -> Running:
        """Fork a process for a mutant."""
        expected = sum(self.seconds.get(test, 0.0) for test in selection.wanted)
        limit = max(self.config.timeout_least, self.config.timeout_factor * expected)
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_try_mutant, args=(self.config, mutant, selection, limit, sender))
        process.start()
        sender.close()
        assert process.pid is not None
        return Running(mutant, process, receiver, Effort(limit, partial(usage_of_tree, process.pid)))

    def run(self, mutants: Iterable[Mutant]) -> Iterator[Verdict]:
        """Try all; verdicts come in the order in which they are reached."""
        waiting = iter(mutants)
        running: list[Running] = []
        try:
            while True:
                while len(running) < self.config.jobs and (mutant := next(waiting, None)) is not None:
                    selection = self.selection(mutant)
                    if selection.wanted:
                        running.append(self.start(mutant, selection))
                    else:
                        yield Verdict(mutant, Outcome.UNREACHED)
                if not running:
                    return
                wait([trial.pipe for trial in running], timeout=1.0)
                for trial in list(running):
                    verdict = trial.verdict()
                    if verdict is not None:
                        running.remove(trial)
                        if verdict.killer:
                            self.kills[verdict.mutant.path][verdict.killer] += 1
                        yield verdict
        finally:
            for trial in running:
                trial.stop()
