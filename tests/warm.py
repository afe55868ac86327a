"""Warm workers for commands: a worker imports torch, which takes seconds, and most tests are not about its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import pytest

import stepagents.executors.opening
from processes import eventually
from stepagents.cli import synth_function
from stepcore.cli import simulate, verify
from stepcore.isolation import TEXT, Isolation
from stepcore.jobdata.kinds import JobKind
from stepcore.jobs import Job, Limits, Pool
from stepcore.jobs.pool import DEFAULT_COMMAND

_Key: TypeAlias = tuple[tuple[str, ...], int, Limits, Isolation, str]
_POOLS: Final[dict[_Key, Pool]] = {}  # that all tests of this process share, the one lent last behind the others
_MOST: Final = 3  # because of their memory


def _warm(key: _Key) -> Pool:
    command, size, limits, isolation, _folder = key
    if key not in _POOLS:
        _POOLS[key] = Pool(command, size, limits, isolation=isolation)
    pool = _POOLS[key] = _POOLS.pop(key)
    if len(_POOLS) > _MOST:
        _POOLS.pop(next(iter(_POOLS))).close()
    return pool


class Lent:
    """A pool for one command, as :class:`stepcore.jobs.Pool`. Leaving it ends its jobs, and no worker."""

    def __init__(
        self,
        command: Sequence[str] = DEFAULT_COMMAND,
        *,
        size: int,
        limits: Limits | None,
        isolation: Isolation | None = None,
        folder: str = "",
    ) -> None:
        self.limits = limits or Limits()
        self.size = size
        shared = replace(self.limits, seconds=None)  # that of each job is told
        self._pool = _warm((tuple(command), size, shared, isolation or Isolation(), folder))
        self._jobs: list[Job[Any]] = []

    def submit(
        self, kind: JobKind[Any, Any, Any], payload: Any, *, seconds: float | None = None, **more: Any
    ) -> Job[Any]:
        """Queue a job with the time limit of this pool, or its own."""
        limit = self.limits.seconds if seconds is None else seconds
        self._jobs.append(self._pool.submit(kind, payload, seconds=limit, **more))
        return self._jobs[-1]

    @property
    def worker_pids(self) -> Sequence[int]:
        """The workers, whoever else they work for."""
        return self._pool.worker_pids

    def start_worker(self, isolation: Isolation | None = None) -> None:
        """Nothing: the workers are warm."""

    def close(self) -> None:
        """Cancel all jobs and wait for their ends."""
        for job in self._jobs:
            job.cancel()
        assert eventually(lambda: all(job.future.done() for job in self._jobs))
        self._jobs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _in_this_folder(command: Sequence[str], size: int, limits: Limits) -> Lent:
    """Lend workers that were started here: a function's file is looked for from there."""
    return Lent(command, size=max(size, 2), limits=limits, folder=str(Path.cwd()))


def _of_the_simulator(size: int, limits: Limits) -> Lent:
    """Lend the same two workers however many files there are."""
    return Lent(size=max(size, 2), limits=limits)


def _of_any_file(path: Path, *_others: Any, **_more: Any) -> Isolation:
    """Let files of different tests share a worker, which writes beside none of them."""
    return Isolation() if path.suffix == ".py" else TEXT


def lend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``verify``, ``simulate``, ``synth``, ``bench`` and ``improve``, called in this process, use warm workers."""
    monkeypatch.setattr(stepagents.executors.opening, "Pool", Lent)
    monkeypatch.setattr(synth_function, "Pool", _in_this_folder)
    monkeypatch.setattr(synth_function, "isolation_for", _of_any_file)
    for module in (verify, simulate):
        monkeypatch.setattr(module, "Pool", _of_the_simulator)
        monkeypatch.setattr(module, "isolation_for", _of_any_file)
